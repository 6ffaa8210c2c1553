// What every command shares: how it is registered, how it prints, how it ends. One file a command; main.cpp lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/json.h"

namespace atlas::cli {

// Documented in README.md and in --help.
enum ExitCode : int { exit_ok = 0, exit_refused = 1, exit_usage = 2, exit_internal = 3 };

// Results go to standard output, progress and notes to standard error. --quiet drops the latter, --json turns results into one JSON object.
struct Console {
  bool quiet = false;
  bool json = false;

  void result(const std::string& text, const Json& as_json) const;  // prints the one that was asked for
  void note(const std::string& text) const;
};

// A line of progress with rate and time left, redrawn in place on a terminal, at most a few times a second; on no terminal, one line every
// ten seconds. Drawn by update(), cleared by the destructor.
class Progress {
 public:
  Progress(const Console& console, std::string what, std::string unit);
  ~Progress();
  void update(std::uint64_t done, std::uint64_t total);

 private:
  const Console& console_;
  std::string what_, unit_;
  std::chrono::steady_clock::time_point start_, last_drawn_;
  bool on_terminal_;
  bool drawn_ = false;
};

// The steps of work whose length is not known beforehand: says which one runs, redrawn in place on a terminal, silent elsewhere.
class Steps {
 public:
  explicit Steps(const Console& console);
  void begin(const std::string& what);
  void end();  // clears the line

 private:
  bool shown_;
};

// Each adds its subcommand to `app`; the work is done in the subcommand's callback, which throws Error.
void add_probes(CLI::App& app, const Console& console);
void add_capture(CLI::App& app, const Console& console);
void add_import(CLI::App& app, const Console& console);
void add_count(CLI::App& app, const Console& console);
void add_merge(CLI::App& app, const Console& console);
void add_build(CLI::App& app, const Console& console);
void add_plan(CLI::App& app, const Console& console);
void add_show(CLI::App& app, const Console& console);
void add_export(CLI::App& app, const Console& console);
void add_page(CLI::App& app, const Console& console);

// "1.2 GB", "34 k"
std::string bytes_text(std::uint64_t bytes);
std::string count_text(std::uint64_t count);

}  // namespace atlas::cli
