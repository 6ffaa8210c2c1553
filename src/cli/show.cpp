// `expert-atlas show atlas.json [--topic T]`
#include "atlas/show.h"

#include "cli/command.h"

namespace atlas::cli {

void add_show(CLI::App& app, const Console& console) {
  CLI::App* command = app.add_subcommand("show", "Show an atlas as a table for a terminal");
  command->footer("Example: expert-atlas show atlas.json --topic german");
  struct Options {
    std::string path, topic;
  };
  auto options = std::make_shared<Options>();
  command->add_option("ATLAS", options->path, "the atlas file")->required();
  command->add_option("--topic", options->topic, "one topic: its experts and its prompts");
  command->callback([options, &console] {
    const Atlas atlas = read_atlas(options->path);
    if (options->topic.empty()) console.result(summary_text(atlas) + topics_text(atlas), summary_json(atlas));
    else console.result(topic_text(atlas, options->topic), topic_json(atlas, options->topic));
  });
}

}  // namespace atlas::cli
