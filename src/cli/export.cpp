// `expert-atlas export atlas.json --as web|csv --out FILE`
#include <fmt/format.h>

#include "atlas/atlas.h"
#include "atlas/export.h"
#include "base/mapped_file.h"
#include "cli/command.h"

namespace atlas::cli {

void add_export(CLI::App& app, const Console& console) {
  CLI::App* command = app.add_subcommand("export", "Write an atlas in another form");
  command->footer(
      "web: the reference document's table of kept experts, as JSON; csv: every expert seen, a row each.\n"
      "Example: expert-atlas export atlas.json --as csv --out experts.csv");
  struct Options {
    std::string path, form, out;
  };
  auto options = std::make_shared<Options>();
  command->add_option("ATLAS", options->path, "the atlas file")->required();
  command->add_option("--as", options->form, "web or csv")->required()->check(CLI::IsMember({"web", "csv"}));
  command->add_option("-o,--out", options->out, "the file to write")->required();
  command->callback([options, &console] {
    const Atlas atlas = read_atlas(options->path);
    write_file(options->out, options->form == "web" ? web_export(atlas) : csv_export(atlas));
    console.result(fmt::format("{}: {} experts\n", options->out,
                               options->form == "web" ? atlas.reference.experts.size() : atlas.counts.experts.size()),
                   {{"out", options->out}, {"as", options->form}});
  });
}

}  // namespace atlas::cli
