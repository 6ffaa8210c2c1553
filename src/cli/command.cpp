// See command.h.
#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace atlas::cli {

void Console::result(const std::string& text, const Json& as_json) const {
  if (json) fmt::print("{}\n", as_json.dump(1));
  else fmt::print("{}", text);
}

void Console::note(const std::string& text) const {
  if (!quiet) fmt::print(stderr, "{}\n", text);
}

Progress::Progress(const Console& console, std::string what, std::string unit)
    : console_(console), what_(std::move(what)), unit_(std::move(unit)), start_(std::chrono::steady_clock::now()), last_drawn_(start_),
      on_terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_ && on_terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  const double since_drawn = std::chrono::duration<double>(now - last_drawn_).count();
  if (console_.quiet || since_drawn < (on_terminal_ ? 0.2 : 10.0)) return;
  last_drawn_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  const double left = rate > 0 && total > done ? static_cast<double>(total - done) / rate : 0;
  const auto amount = [this](double value) {
    return unit_ == "bytes" ? bytes_text(static_cast<std::uint64_t>(value)) : count_text(static_cast<std::uint64_t>(value)) + " " + unit_;
  };
  const double percent = total > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(total) : 0.0;
  const std::string line =
      fmt::format("{}: {:.0f} % of {}, {}/s, {:.0f} s left", what_, percent, amount(static_cast<double>(total)), amount(rate), left);
  if (on_terminal_) fmt::print(stderr, "\r\033[K{}", line);
  else fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

Steps::Steps(const Console& console) : shown_(!console.quiet && ::isatty(STDERR_FILENO) == 1) {}

void Steps::begin(const std::string& what) {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K{} ...", what);
  std::fflush(stderr);
}

void Steps::end() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

static std::string scaled(double value, double step, const std::array<const char*, 5>& units) {
  std::size_t i = 0;
  for (; value >= step && i + 1 < units.size(); i++) value /= step;
  return i == 0 ? fmt::format("{:.0f}{}", value, units[0]) : fmt::format("{:.3g}{}", value, units.at(i));
}

std::string bytes_text(std::uint64_t bytes) { return scaled(static_cast<double>(bytes), 1000, {" B", " kB", " MB", " GB", " TB"}); }
std::string count_text(std::uint64_t count) {
  return count < 10000 ? std::to_string(count) : scaled(static_cast<double>(count), 1000, {"", " k", " M", " G", " T"});
}

}  // namespace atlas::cli
