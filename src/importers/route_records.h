// The reference document's route records, one JSON object a line: {"segment":"topic:index","forward":0,"row":0,"layer":3,"indices":[5,4]}.
// Filled by RouteReader from the text of one file; read by the importer of reference JSONL and by the tests against the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace atlas {

// As in the file, not yet judged: numbers are doubles as JavaScript has them, NaN for what is no number. A segment that is no text is kept as
// its JSON, which is never a run id; without a list of indices there are none.
struct RouteRecord {
  std::string segment;
  double forward = 0;
  double row = 0;
  double layer = 0;
  std::vector<double> indices;  // [experts of this record], as given
};

// Reads records line by line, holding one at a time. Blank lines are skipped. Fields that are not known are checked to be JSON and ignored; of
// a repeated field the last counts.
class RouteReader {
 public:
  // `text` must outlive the reader; `where` names it in errors.
  RouteReader(std::string_view text, std::string where);
  ~RouteReader();

  bool next(RouteRecord& record);  // false at the end; throws Error with the line (and column) of what is no record
  std::size_t bytes_read() const { return position_; }
  std::string place() const;  // "file:line" of the record that next() gave last

 private:
  struct Parser;
  std::string_view text_;
  std::string where_;
  std::size_t position_ = 0;
  std::uint64_t line_ = 0;
  std::unique_ptr<Parser> parser_;
};

std::vector<RouteRecord> parse_route_records(std::string_view text, const std::string& where);

// What the reference refuses in a record of the run `segment`, the first fault in its order: the segment; forward, row and layer; no experts;
// an expert twice; each expert. The problem's `where` is the field; the caller puts file and line before it.
std::optional<Problem> route_record_problem(const RouteRecord& record, const std::string& segment);

inline constexpr std::size_t max_record_bytes = std::size_t{1} << 20;  // of one line, so that no file can make a reader hold all of it

}  // namespace atlas
