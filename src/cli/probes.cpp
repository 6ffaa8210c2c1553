// `expert-atlas probes check FILE`
#include <fmt/format.h>

#include "cli/command.h"
#include "probes/probe_set.h"

namespace atlas::cli {

static void check(const std::string& path, const Console& console) {
  const ProbeSet set = read_probe_set(path);
  std::string text = fmt::format("{}: {} probes, {} topics, schema version {}\n", path, set.probes.size(), set.topics.size(), set.schema_version);
  Json topics = Json::object();
  for (const std::string& topic : set.topics) {
    text += fmt::format("  {:<24} {:>4} probes\n", topic, set.probe_count(topic));
    topics[topic] = set.probe_count(topic);
  }
  console.result(text, {{"probes", set.probes.size()}, {"schema_version", set.schema_version}, {"sha256", set.sha256}, {"topics", topics}});
}

void add_probes(CLI::App& app, const Console& console) {
  CLI::App* probes = app.add_subcommand("probes", "Work on probe sets");
  probes->require_subcommand(1);
  CLI::App* command = probes->add_subcommand("check", "Check a probe set; every problem is listed with its place");
  command->footer("Example: expert-atlas probes check probes/starter.json");
  auto path = std::make_shared<std::string>();
  command->add_option("FILE", *path, "the probe set")->required();
  command->callback([path, &console] { check(*path, console); });
}

}  // namespace atlas::cli
