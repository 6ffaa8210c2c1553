// See error.h.
#include "base/error.h"

#include <utility>

namespace atlas {

std::string to_string(const Problem& problem) {
  std::string text = problem.where;
  const auto append = [&text](const char* lead, const std::string& part) {
    if (part.empty()) return;
    text += text.empty() ? "" : lead;
    text += part;
  };
  append(": ", problem.found);
  append("; expected ", problem.expected);
  if (!problem.likely_cause.empty()) text += " (likely cause: " + problem.likely_cause + ")";
  return text;
}

static std::string join(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += to_string(problem);
  }
  return text;
}

Error::Error(Problem problem, ErrorKind kind) : Error(std::vector<Problem>{std::move(problem)}, kind) {}

Error::Error(std::vector<Problem> problems, ErrorKind kind) : std::runtime_error(join(problems)), problems_(std::move(problems)), kind_(kind) {}

void throw_if_any(std::vector<Problem> problems) {
  if (!problems.empty()) throw Error(std::move(problems));
}

}  // namespace atlas
