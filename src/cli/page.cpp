// `expert-atlas page atlas.json --out atlas.html`
#include "atlas/page.h"

#include <fmt/format.h>

#include "atlas/atlas.h"
#include "base/mapped_file.h"
#include "cli/command.h"

namespace atlas::cli {

namespace {

struct Options {
  std::string path, out;
  bool no_text = false;
};

// The file's own JSON goes into the page, with parts that this version does not know; reading it as an atlas refuses damaged ones.
Json atlas_json(const Options& options) {
  Json json = read_json_file(options.path);
  Atlas atlas = atlas_from_json(json, options.path);
  if (!options.no_text) return json;
  leave_out_texts(atlas);
  return atlas_to_json(atlas);
}

}  // namespace

void add_page(CLI::App& app, const Console& console) {
  CLI::App* command = app.add_subcommand("page", "Make an atlas into a page for a browser: one HTML file that needs no server");
  command->footer("Example: expert-atlas page atlas.json --out atlas.html");
  auto options = std::make_shared<Options>();
  command->add_option("ATLAS", options->path, "the atlas file")->required();
  command->add_option("-o,--out", options->out, "the HTML file to write")->required();
  command->add_flag("--no-text", options->no_text, "leave prompts and answers out of the page");
  command->callback([options, &console] {
    const std::string html = page_html(page_template(), compact_for_page(atlas_json(*options)));
    write_file(options->out, html);
    console.result(fmt::format("Written to {} ({}): open it in a browser\n", options->out, bytes_text(html.size())),
                   {{"path", options->out}, {"bytes", html.size()}});
  });
}

}  // namespace atlas::cli
