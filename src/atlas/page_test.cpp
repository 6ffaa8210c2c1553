// The page: what stands in it is the atlas, and no text of an atlas can leave its element.
#include "atlas/page.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/encoded_array.h"

namespace atlas {
namespace {

const std::string small_template = "<p>before</p><script type=\"application/json\" id=\"atlas-data\">\"EXPERT_ATLAS_JSON\"</script><p>after</p>";

std::string between(const std::string& html) {
  const std::string opening = "id=\"atlas-data\">";
  const std::size_t begin = html.find(opening) + opening.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

TEST(Page, holds_the_same_json_and_keeps_what_stands_around_it) {
  const Json atlas{{"topics", {"a", "b"}}, {"number", 0.25}};
  const std::string html = page_html(small_template, atlas);
  EXPECT_EQ(parse_json(between(html), "page"), atlas);
  EXPECT_EQ(html.substr(0, 13), "<p>before</p>");
  EXPECT_EQ(html.substr(html.size() - 12), "<p>after</p>");
}

TEST(Page, cannot_be_left_by_a_hostile_text) {
  const Json atlas{{"prompt", "</script><img src=x onerror=alert(1)><!--<script>"}};
  const std::string html = page_html(small_template, atlas);
  EXPECT_EQ(between(html).find('<'), std::string::npos);
  EXPECT_EQ(parse_json(between(html), "page"), atlas);
}

TEST(Page, takes_marker_words_inside_an_atlas_as_text) {
  const Json atlas{{"prompt", small_template}};
  EXPECT_EQ(parse_json(between(page_html(small_template, atlas)), "page"), atlas);
}

TEST(Page, refuses_a_template_without_one_place_for_the_atlas) {
  EXPECT_THROW(page_html("<p></p>", Json::object()), Error);
  EXPECT_THROW(page_html(small_template + small_template, Json::object()), Error);
}

template <typename T>
std::vector<T> decoded(const Json& json, const std::vector<std::uint64_t>& shape) {
  std::vector<Problem> problems;
  std::vector<T> values = decode_array<T>(json, shape, "test", problems);
  EXPECT_TRUE(problems.empty());
  return values;
}

TEST(Page, keeps_whole_numbers_exactly_in_the_smallest_type) {
  const std::vector<std::uint32_t> small{0, 255}, middle{7, 65535}, large{1, 65536};
  const std::vector<std::uint64_t> total{5, 4'000'000'000}, beyond{1, 5'000'000'000};
  Json atlas;
  atlas["experts"] = {{"small", encode_array<std::uint32_t>(small, {2})},
                      {"middle", encode_array<std::uint32_t>(middle, {1, 2})},
                      {"large", encode_array<std::uint32_t>(large, {2})},
                      {"total", encode_array<std::uint64_t>(total, {2})},
                      {"beyond", encode_array<std::uint64_t>(beyond, {2})}};
  const Json compact = compact_for_page(atlas)["experts"];
  EXPECT_EQ(decoded<std::uint8_t>(compact["small"], {2}), (std::vector<std::uint8_t>{0, 255}));
  EXPECT_EQ(decoded<std::uint16_t>(compact["middle"], {1, 2}), (std::vector<std::uint16_t>{7, 65535}));
  EXPECT_EQ(decoded<std::uint32_t>(compact["large"], {2}), large);
  EXPECT_EQ(decoded<std::uint32_t>(compact["total"], {2}), (std::vector<std::uint32_t>{5, 4'000'000'000}));
  EXPECT_EQ(decoded<std::uint64_t>(compact["beyond"], {2}), beyond);
}

TEST(Page, keeps_seven_digits_of_a_column_and_four_of_what_is_only_drawn) {
  const std::vector<double> values{0.123456, 1e-9, -1, 0, 0.999999, 12.345678};
  Json atlas;
  atlas["experts"] = {{"affinity", encode_array<double>(values, {6})}, {"lift_interval_95", encode_array<double>(values, {6})}};
  const Json compact = compact_for_page(atlas)["experts"];
  const std::vector<float> exact = decoded<float>(compact["affinity"], {6}), drawn = decoded<float>(compact["lift_interval_95"], {6});
  for (std::size_t i = 0; i < values.size(); i++) {
    EXPECT_LE(std::abs(exact[i] - values[i]), 6e-8 * std::abs(values[i]));
    EXPECT_LE(std::abs(drawn[i] - values[i]), 1.3e-4 * std::abs(values[i]));
  }
  EXPECT_EQ(drawn[2], -1.0F);  // "not computed" stays what it is
}

TEST(Page, leaves_out_what_it_works_out_itself_but_not_where_layers_are_missing) {
  const Json column = encode_array<double>(std::vector<double>{0.5}, {1});
  Json atlas;
  atlas["counts"] = {{"router_weight_sum", column}};
  atlas["evidence"]["all"] = {{"layers_left_out", Json::array()}, {"experts", {{"affinity", column}, {"q_value", column}}}};
  atlas["evidence"]["answer"] = {{"layers_left_out", {7}}, {"experts", {{"affinity", column}}}};
  const Json compact = compact_for_page(atlas);
  EXPECT_FALSE(compact["counts"].contains("router_weight_sum"));
  EXPECT_FALSE(compact["evidence"]["all"]["experts"].contains("affinity"));
  EXPECT_TRUE(compact["evidence"]["all"]["experts"].contains("q_value"));
  EXPECT_TRUE(compact["evidence"]["answer"]["experts"].contains("affinity"));
}

TEST(Page, embedded_template_has_one_place_and_fetches_nothing) {
  const std::string html = page_html(page_template(), Json::object());
  EXPECT_NE(html.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_EQ(html.find("CONTENT_SECURITY_POLICY"), std::string::npos);
}

}  // namespace
}  // namespace atlas
