// Tests of probe sets: version 1 with the reference's checks in its order, version 2 with ours, names, white space and pictures.
#include "probes/probe_set.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace atlas {
namespace {

using Texts = std::vector<std::string>;

const std::string provenance = R"("provenance":{"source":"s","sourceCommit":"c","method":"m"})";

std::string version_1(const std::string& categories) { return "{\"schemaVersion\":1," + provenance + ",\"categories\":" + categories + "}"; }
std::string version_2(const std::string& probes, const std::string& more = "") {
  return "{\"schemaVersion\":2," + provenance + ",\"topic_axis\":\"topic\",\"probes\":[" + probes + "]" + more + "}";
}
std::string probe(const std::string& id, const std::string& topic, const std::string& more = "") {
  return "{\"id\":\"" + id + "\",\"prompt\":\"p\",\"labels\":{\"topic\":\"" + topic + "\"}" + more + "}";
}
// Six sound probes, the first of them with `more` fields.
std::string six(const std::string& more = "") {
  return probe("p0", "a", more) + "," + probe("p1", "a") + "," + probe("p2", "a") + "," + probe("p3", "b") + "," + probe("p4", "b") + "," +
         probe("p5", "b");
}

ProbeSet parse(const std::string& text) { return parse_probe_set(text, "f"); }
Texts problems(const std::string& text) {
  return problems_of([&] { parse(text); });
}
std::string first_problem(const std::string& text) {
  const Texts all = problems(text);
  return all.empty() ? "" : all[0];
}

Texts run_ids(const ProbeSet& set) {
  Texts ids;
  for (const Probe& one : set.probes) ids.push_back(one.run_id);
  return ids;
}

// --- Version 1 ---

TEST(ProbeSetVersion1, Topics_keep_the_file_s_order_but_number_like_names_come_first_as_numbers) {
  const ProbeSet set = parse(version_1(R"({"b":["1","2","3"],"10":["4","5","6"],"2":["7","8","9"],"a":["x","y","z"],"01":["u","v","w"]})"));
  EXPECT_EQ(run_ids(set), (Texts{"2:0", "2:1", "2:2", "10:0", "10:1", "10:2", "b:0", "b:1", "b:2", "a:0", "a:1", "a:2", "01:0", "01:1", "01:2"}));
  EXPECT_EQ(set.topics, (Texts{"01", "10", "2", "a", "b"}));  // code-unit order
  EXPECT_EQ(set.probes[3].prompt, "4");
  EXPECT_EQ(set.probes[3].id, "10:0");
  EXPECT_EQ(set.probes[3].labels, (std::map<std::string, std::string>{{"topic", "10"}}));
  EXPECT_EQ(set.probe_count("b"), 3U);
  EXPECT_EQ(set.provenance.source_commit, "c");
}

TEST(ProbeSetVersion1, Unknown_fields_are_ignored_and_texts_are_not_trimmed) {
  const ProbeSet set = parse(R"({"extra":1,"schemaVersion":1.0,"provenance":{"source":" s ","sourceCommit":"c","method":"m","more":[]},)"
                             R"("categories":{"a":[" x\n","y","z"],"b":["1","2","3"]},"probes":5})");
  EXPECT_EQ(set.provenance.source, " s ");
  EXPECT_EQ(set.probes[0].prompt, " x\n");
}

TEST(ProbeSetVersion1, A_repeated_topic_keeps_its_first_place_and_its_last_prompts) {
  const ProbeSet set = parse(version_1(R"({"b":["1"],"a":["x","y","z"],"b":["4","5","6"]})"));
  EXPECT_EQ(run_ids(set), (Texts{"b:0", "b:1", "b:2", "a:0", "a:1", "a:2"}));
  EXPECT_EQ(set.probes[0].prompt, "4");
}

TEST(ProbeSetVersion1, The_sha256_is_that_of_the_bytes) {
  const std::string text = version_1(R"({"a":["x","y","z"],"b":["1","2","3"]})");
  EXPECT_EQ(parse(text).sha256.size(), 64U);
  EXPECT_NE(parse(text).sha256, parse(text + " ").sha256);
}

TEST(ProbeSetVersion1, What_is_no_object_is_refused) {
  EXPECT_EQ(first_problem("null"), "f: $: null; expected a probe set, which is an object");
  EXPECT_EQ(first_problem("\"text\""), "f: $: a text; expected a probe set, which is an object");
  EXPECT_EQ(first_problem("[]"), "f: $: a list; expected a probe set, which is an object");
}

TEST(ProbeSetVersion1, Other_schema_versions_are_refused) {
  const std::string rest = "," + provenance + R"(,"categories":{"a":["x","y","z"],"b":["1","2","3"]}})";
  EXPECT_EQ(problems("{\"schemaVersion\":2" + rest), (Texts{"f: $.schemaVersion: 2; expected 1, since there are categories"}));
  for (const char* version : {"\"1\"", "0", "3", "1.5", "-1", "null", "true", "[1]", "{}"})
    EXPECT_EQ(problems("{\"schemaVersion\":" + std::string(version) + rest),
              (Texts{"f: $.schemaVersion: " + std::string(version) + "; expected the number 1 or 2"}));
  EXPECT_EQ(problems("{\"x\":0" + rest), (Texts{"f: $.schemaVersion: nothing; expected the number 1 or 2"}));
}

TEST(ProbeSetVersion1, Provenance_must_name_source_commit_and_method) {
  const auto with = [](const std::string& value) {
    return "{\"schemaVersion\":1," + value + R"("categories":{"a":["x","y","z"],"b":["1","2","3"]}})";
  };
  EXPECT_EQ(problems(with("")), (Texts{"f: $.provenance: nothing; expected an object with source, sourceCommit and method"}));
  for (const char* value : {"null", "[]", "\"s\"", "5"}) EXPECT_EQ(problems(with("\"provenance\":" + std::string(value) + ",")).size(), 1U) << value;
  EXPECT_EQ(problems(with(R"("provenance":{"source":"\t\u00a0\ufeff\u3000\u2028","method":5},)")),
            (Texts{"f: $.provenance.source: a blank text; expected a text that says where the probes come from",
                   "f: $.provenance.sourceCommit: nothing; expected a text that says where the probes come from",
                   "f: $.provenance.method: a number; expected a text that says where the probes come from"}));
}

TEST(ProbeSetVersion1, Categories_must_be_an_object_of_at_least_two_topics) {
  EXPECT_EQ(problems("{\"schemaVersion\":1," + provenance + "}"), (Texts{"f: $.categories: nothing; expected an object of topics"}));
  for (const char* value : {"[]", "null", "\"a\"", "[[\"x\"]]"}) EXPECT_EQ(problems(version_1(value)).size(), 1U) << value;
  EXPECT_EQ(problems(version_1(R"({"a":["x","y","z"]})")), (Texts{"f: $.categories: 1 topics; expected at least two"}));
  EXPECT_EQ(problems(version_1("{}")), (Texts{"f: $.categories: 0 topics; expected at least two"}));
}

TEST(ProbeSetVersion1, Topics_must_have_sound_names_and_three_prompts_that_are_not_blank) {
  EXPECT_EQ(problems(version_1(R"({"a":["x","y"],"B":["1","2","3"],"c":["x"," \u2003",5,"z",""],"d":"abc","e":null})")),
            (Texts{"f: $.categories[\"a\"]: 2 prompts; expected a list of at least three prompts",
                   "f: $.categories[\"B\"]: the topic name \"B\"; expected lower-case letters, digits and _, not starting with _",
                   "f: $.categories[\"c\"][1]: a blank text; expected a prompt", "f: $.categories[\"c\"][2]: a number; expected a prompt",
                   "f: $.categories[\"c\"][4]: a blank text; expected a prompt",
                   "f: $.categories[\"d\"]: a text; expected a list of at least three prompts",
                   "f: $.categories[\"e\"]: null; expected a list of at least three prompts"}));
}

TEST(ProbeSetVersion1, All_problems_are_listed_in_the_reference_s_order) {
  const Texts all = problems(R"({"schemaVersion":1,"categories":{"b":["x"],"_":[" "],"7":[]}})");
  ASSERT_EQ(all.size(), 6U);
  EXPECT_NE(all[0].find("$.provenance"), std::string::npos);
  EXPECT_NE(all[1].find("[\"7\"]: 0 prompts"), std::string::npos);  // a number-like name is visited first
  EXPECT_NE(all[2].find("[\"b\"]: 1 prompts"), std::string::npos);
  EXPECT_NE(all[3].find("[\"_\"]: the topic name"), std::string::npos);
  EXPECT_NE(all[4].find("[\"_\"]: 1 prompts"), std::string::npos);
  EXPECT_NE(all[5].find("[\"_\"][0]: a blank text"), std::string::npos);
}

TEST(ProbeSetVersion1, An_odd_name_is_shown_as_JSON_so_that_its_line_feed_can_be_seen) {
  EXPECT_EQ(problems(version_1(R"({"a\n":["x","y","z"],"b":["1","2","3"]})")).at(0).substr(0, 26), "f: $.categories[\"a\\n\"]: th");
}

TEST(TopicName, Is_lower_case_letters_digits_and_underscores_not_first) {
  for (const char* name : {"a", "0", "a_", "a__b", "10", "z9_"}) EXPECT_TRUE(is_topic_name(name)) << name;
  for (const char* name : {"", "_", "_a", "A", "aB", "a-b", "a b", "a\n", "\na", "é", "a\xC3\xA9", "a:", "a.b"})
    EXPECT_FALSE(is_topic_name(name)) << name;
  EXPECT_FALSE(is_topic_name(std::string_view("a\0", 2)));
}

TEST(Blank, Is_what_JavaScript_calls_white_space_and_nothing_else) {
  for (const char* text : {"", " ", "\t\n\v\f\r ", "\u00A0", "\u1680", "\u2000", "\u2005", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000",
                           "\uFEFF", " \u3000\uFEFF\n"})
    EXPECT_TRUE(is_blank(text)) << text;
  for (const char* text :
       {"x", " x ", "\u0085", "\u180E", "\u200B", "\u2060", "\u200C", "\u1FFF", "\u200B\u2003", "\x1C", "\x08", "\x0E", "\U0001F600", "\u0020\u0085"})
    EXPECT_FALSE(is_blank(text)) << text;
  EXPECT_FALSE(is_blank(std::string_view("\0", 1)));
}

// --- Version 2 ---

TEST(ProbeSetVersion2, Probes_are_numbered_within_their_topic_in_file_order) {
  const ProbeSet set = parse(version_2(probe("x", "b") + "," + probe("y", "a") + "," + probe("z", "b") + "," + probe("u", "a") + "," +
                                       probe("v", "a") + "," + probe("w", "b")));
  EXPECT_EQ(set.schema_version, 2U);
  EXPECT_EQ(run_ids(set), (Texts{"b:0", "a:0", "b:1", "a:1", "a:2", "b:2"}));
  EXPECT_EQ(set.topics, (Texts{"a", "b"}));
  EXPECT_EQ(set.probes[2].id, "z");
  EXPECT_FALSE(set.probes[0].answer);
}

TEST(ProbeSetVersion2, Answers_and_pictures_are_read) {
  const ProbeSet set = parse(version_2(six(R"(,"answer":"yes","images":["a.png","b.png"])")));
  EXPECT_EQ(set.probes[0].answer, "yes");
  EXPECT_EQ(set.probes[0].images, (Texts{"a.png", "b.png"}));
}

TEST(ProbeSetVersion2, Each_mark_in_the_prompt_stands_for_one_picture_or_there_is_none) {
  const auto with = [](const std::string& prompt, const std::string& images) {
    std::string text = version_2(six(",\"images\":" + images));
    return text.replace(text.find("\"prompt\":\"p\""), 12, "\"prompt\":\"" + prompt + "\"");
  };
  EXPECT_NO_THROW(parse(with("<image> and <image>", R"(["a","b"])")));
  EXPECT_NO_THROW(parse(with("no mark", R"(["a","b"])")));
  EXPECT_EQ(problems(with("<image>", R"(["a","b"])")),
            (Texts{"f: $.probes[0].images: 2 pictures for 1 <image> marks; expected one mark for each picture, or no mark"}));
  EXPECT_EQ(problems(with("<image><image>", R"(["a"])")),
            (Texts{"f: $.probes[0].images: 1 pictures for 2 <image> marks; expected one mark for each picture, or no mark"}));
  EXPECT_EQ(problems(with("x", "\"a\"")), (Texts{"f: $.probes[0].images: a text; expected a list of paths"}));
  EXPECT_EQ(problems(with("x", R"([""])")), (Texts{"f: $.probes[0].images: a text; expected a path"}));
  EXPECT_EQ(problems(with("x", "[5]")), (Texts{"f: $.probes[0].images: a number; expected a path"}));
  std::string without = version_2(six());
  without.replace(without.find("\"prompt\":\"p\""), 12, "\"prompt\":\"<image>\"");
  EXPECT_NO_THROW(parse(without));  // without pictures the mark is text like any other
}

TEST(ProbeSetVersion2, Unknown_fields_are_refused_at_every_level) {
  const std::string cause = ": a field that is not known here; expected no such field (likely cause: a spelling slip, or a newer format)";
  EXPECT_EQ(problems(version_2(six(), ",\"note\":1")), (Texts{"f: $.note" + cause}));
  EXPECT_EQ(problems(version_2(six(",\"awnser\":\"x\""))), (Texts{"f: $.probes[0].awnser" + cause}));
  std::string text = version_2(six());
  text.insert(text.find("\"source\""), "\"when\":1,");
  EXPECT_EQ(problems(text), (Texts{"f: $.provenance.when" + cause}));
}

TEST(ProbeSetVersion2, Every_fault_of_a_probe_is_listed) {
  EXPECT_EQ(problems(version_2(R"({"prompt":" ","answer":"\n","labels":{}},{"id":"a b","prompt":5,"labels":[]},5,{"id":"x","prompt":"p"},)"
                               R"({"id":"y","prompt":"p","answer":null,"labels":{"Bad":"ok","topic":"Not","n":5}})")),
            (Texts{"f: $.probes[0].id: nothing; expected a value", "f: $.probes[0].prompt: a blank text; expected a prompt",
                   "f: $.probes[0].answer: a blank text; expected an answer, or no such field",
                   "f: $.probes[1].id: \"a b\"; expected 1 to 200 letters, digits, _ - . :", "f: $.probes[1].prompt: 5; expected a text",
                   "f: $.probes[1].labels: a list; expected an object {axis: value}", "f: $.probes[2]: a number; expected an object",
                   "f: $.probes[3].labels: nothing; expected a value", "f: $.probes[4].answer: null; expected a text",
                   "f: $.probes[4].labels: the axis \"Bad\"; expected lower-case letters, digits and _, not starting with _",
                   "f: $.probes[4].labels.topic: \"Not\"; expected a label of lower-case letters, digits and _, not starting with _",
                   "f: $.probes[4].labels.n: a number; expected a label of lower-case letters, digits and _, not starting with _"}));
}

TEST(ProbeSetVersion2, Ids_must_be_there_and_differ) {
  EXPECT_EQ(problems(version_2(six() + "," + probe("p2", "a"))),
            (Texts{"f: $.probes[6].id: \"p2\" once more; expected ids that differ (likely cause: a copied probe)"}));
  EXPECT_EQ(problems(version_2(probe("", "a") + "," + six())).size(), 1U);
  EXPECT_EQ(problems(version_2(probe(std::string(201, 'x'), "a") + "," + six())).size(), 1U);
  EXPECT_NO_THROW(parse(version_2(probe(std::string(200, 'x'), "a") + "," + six())));
}

TEST(ProbeSetVersion2, Topics_must_be_two_with_three_probes_each_and_every_probe_needs_a_label_on_the_axis) {
  EXPECT_EQ(problems(version_2(probe("x", "a") + "," + probe("y", "a") + "," + probe("z", "a"))),
            (Texts{"f: $.probes: 1 topics; expected at least two"}));
  EXPECT_EQ(problems(version_2(six() + "," + probe("x", "c"))), (Texts{"f: $.probes: 1 probes of the topic \"c\"; expected at least three"}));
  EXPECT_EQ(problems(version_2(six() + R"(,{"id":"x","prompt":"p","labels":{"language":"de"}})")).at(0),
            "f: $.probes[6].labels: no label \"topic\"; expected a label on the topic axis");
  EXPECT_EQ(problems(version_2("")).at(0), "f: $.probes: 0 topics; expected at least two");
}

TEST(ProbeSetVersion2, The_frame_s_own_fields_must_be_there) {
  EXPECT_EQ(problems("{\"schemaVersion\":2}"), (Texts{"f: $.provenance: nothing; expected an object with source, sourceCommit and method",
                                                      "f: $.topic_axis: nothing; expected a value", "f: $.probes: nothing; expected a value"}));
  EXPECT_EQ(problems("{\"schemaVersion\":2," + provenance + ",\"topic_axis\":5,\"probes\":{}}"),
            (Texts{"f: $.topic_axis: 5; expected a text", "f: $.probes: an object; expected a list of probes"}));
}

TEST(ProbeSetVersion2, A_set_can_be_read_on_another_axis) {
  std::string probes;
  for (int i = 0; i < 6; i++)
    probes += std::string(i > 0 ? "," : "") + R"({"id":"p)" + std::to_string(i) + R"(","prompt":"p","labels":{"topic":")" + (i < 3 ? "a" : "b") +
              R"(","language":")" + (i % 2 == 0 ? "de" : "en") + "\"" + (i == 5 ? "" : ",\"source\":\"x\"") + "}}";
  const ProbeSet set = parse(version_2(probes));
  const ProbeSet by_language = with_topic_axis(set, "language");
  EXPECT_EQ(run_ids(by_language), (Texts{"de:0", "en:0", "de:1", "en:1", "de:2", "en:2"}));
  EXPECT_EQ(by_language.topics, (Texts{"de", "en"}));
  EXPECT_EQ(by_language.topic_axis, "language");
  EXPECT_EQ(problems_of([&] { with_topic_axis(set, "source"); }).at(0),
            "topic axis \"source\": $.probes[5].labels: no label \"source\"; expected a label on the topic axis");
  EXPECT_THROW(with_topic_axis(set, "absent"), Error);
}

TEST(ProbeSet, The_shipped_starter_set_is_sound) {
  const ProbeSet set = read_probe_set(ATLAS_SOURCE_DIR "/probes/starter.json");
  EXPECT_EQ(set.schema_version, 2U);
  EXPECT_GE(set.topics.size(), 12U);
  for (const std::string& topic : set.topics) EXPECT_EQ(set.probe_count(topic), 8U) << topic;
}

}  // namespace
}  // namespace atlas
