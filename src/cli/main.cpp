// The command line: lists the commands, turns an Error into one clear message and an exit code.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/parallel.h"
#include "base/version.h"
#include "cli/command.h"

namespace {

using namespace atlas::cli;

constexpr const char* description =
    "Expert Atlas: which experts of a mixture-of-experts language model serve which topics,\n"
    "and how well that holds on prompts it never saw.\n\n"
    "  probe set --capture--> route trace --count--> counts --build--> atlas\n\n"
    "Example: expert-atlas capture --model MODEL --probes probes.json --out my.trace &&\n"
    "         expert-atlas build my.trace --out atlas.json && expert-atlas show atlas.json";

constexpr const char* footer = "Exit codes: 0 done; 1 the input was refused (the message says where and why); 2 wrong usage; 3 a bug of ours.";

void print_error(const atlas::Error& error, bool as_json) {
  if (as_json) {
    atlas::Json problems = atlas::Json::array();
    for (const atlas::Problem& problem : error.problems())
      problems.push_back(
          {{"where", problem.where}, {"found", problem.found}, {"expected", problem.expected}, {"likely_cause", problem.likely_cause}});
    fmt::print(stderr, "{}\n", atlas::Json{{"error", problems}}.dump(1, ' ', false, atlas::Json::error_handler_t::replace));
    return;
  }
  constexpr std::size_t most_shown = 20;
  for (std::size_t i = 0; i < error.problems().size() && i < most_shown; i++)
    fmt::print(stderr, "expert-atlas: {}\n", atlas::to_string(error.problems()[i]));
  if (error.problems().size() > most_shown)
    fmt::print(stderr, "expert-atlas: and {} more problems (--json lists all)\n", error.problems().size() - most_shown);
}

}  // namespace

static int run(int argc, char** argv) {
  CLI::App app(description, "expert-atlas");
  Console console;
  unsigned threads = 0;
  app.set_version_flag("--version", fmt::format("expert-atlas {} ({})", atlas::version, atlas::commit));
  app.add_flag("-q,--quiet", console.quiet, "no progress and no notes");
  app.add_flag("--json", console.json, "results as one JSON object on standard output");
  app.add_option("--threads", threads, "threads to use; 0: as many as the machine has")->capture_default_str()->check(CLI::Range(0U, 4096U));
  app.footer(footer);
  app.require_subcommand(1);
  app.fallthrough();
  app.parse_complete_callback([&] { atlas::set_thread_count(threads); });
  add_probes(app, console);
#ifdef ATLAS_HAS_RUNTIME
  add_capture(app, console);
#endif
  add_import(app, console);
  add_count(app, console);
  add_merge(app, console);
  add_build(app, console);
  add_plan(app, console);
  add_show(app, console);
  add_export(app, console);
  add_page(app, console);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return exit_usage;
  } catch (const atlas::Error& error) {
    print_error(error, console.json);
    return exit_refused;
  } catch (const std::filesystem::filesystem_error& error) {
    print_error(atlas::Error(atlas::Problem{error.path1().string(), error.code().message(), "", ""}), console.json);
    return exit_refused;
  } catch (const std::exception& error) {
    fmt::print(stderr, "expert-atlas: a bug of ours: {}\n", error.what());
    return exit_internal;
  }
  return exit_ok;
}

int main(int argc, char** argv) {
  const int code = run(argc, argv);
#ifdef ATLAS_HAS_RUNTIME
  // Everything is written. The destructors of torch 2.11's own statics abort at exit when another libstdc++ than its own is loaded (seen with
  // g++ 13 on Ubuntu 24.04: std::locale freed in TorchLibraryInit), so they are not run.
  std::fflush(nullptr);
  std::_Exit(code);
#else
  return code;
#endif
}
