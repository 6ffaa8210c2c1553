// What went wrong, as facts. Thrown by every reader, check and writer; caught and printed only in src/cli/.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace atlas {

// One fault in some input. `where` names the file and the place in it (line, JSON path, tensor); empty parts are left out when printed.
struct Problem {
  std::string where;
  std::string found;
  std::string expected;
  std::string likely_cause;
};

// "where: found X; expected Y (likely cause: Z)", the one form in which a problem is shown.
std::string to_string(const Problem& problem);

// The reference document refuses numbers out of range by RangeError and all else by Error; its goldens tell the two apart.
enum class ErrorKind { invalid, out_of_range };

// Wrong input, file or machine. Our own bugs are assertions, never this. Carries at least one problem; readers report all that they find.
class Error : public std::runtime_error {
 public:
  explicit Error(Problem problem, ErrorKind kind = ErrorKind::invalid);
  explicit Error(std::vector<Problem> problems, ErrorKind kind = ErrorKind::invalid);

  const std::vector<Problem>& problems() const { return problems_; }
  ErrorKind kind() const { return kind_; }

 private:
  std::vector<Problem> problems_;
  ErrorKind kind_;
};

// Throws an Error that carries all of `problems` if there is any.
void throw_if_any(std::vector<Problem> problems);

}  // namespace atlas
