// A probe set and a model folder become a trace: tokenise, plan, generate the answers that are asked for, then one pass that records routes.
// Used by src/cli/capture.cpp, and so without a word of torch: its headers bring copies of other libraries along (fmt among them).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "probes/probe_set.h"
#include "runtime/options.h"
#include "trace/trace_writer.h"

namespace atlas {

struct CaptureOptions {
  std::filesystem::path model_folder;
  std::filesystem::path out;  // the trace
  Existing existing = Existing::refuse;
  std::int64_t answer_tokens = 0;  // of probes without an answer of their own; 0: prompts alone
  bool use_chat_template = true;   // where the model folder has one
  bool with_texts = true;          // keep prompts and answers in the trace
  std::string engine_version;      // ours, for the manifest
  int threads = 0;                 // 0: as many as help: one for a small model, else all of the machine
  PrefillOptions prefill;
};

// What a capture will do, known before it starts.
struct CapturePlan {
  std::string model_type;
  std::size_t probe_count = 0;
  std::size_t generated_count = 0;  // probes that get a generated answer
  std::uint64_t prompt_token_count = 0;
  std::uint64_t longest_token_count = 0;  // of one probe, answers included
  std::uint64_t layer_count = 0;
  std::uint64_t pass_count = 0;     // over the weights: the capture, and one for each token of the generated answers
  std::uint64_t bytes_to_read = 0;  // of weights, in all passes, if no answer ends early
  std::uint64_t memory_bytes = 0;   // about; weights that are mapped but not widened not counted
  bool uses_chat_template = false;
  std::size_t unknown_phase_count = 0;  // probes whose template and prompt could not be told apart
  std::string unknown_reason;           // of the first of them
};

class Capture {
 public:
  // Opens and checks everything, tokenises the probes. Throws Error that lists every probe that the model cannot take.
  Capture(CaptureOptions options, ProbeSet probe_set);
  ~Capture();

  const CapturePlan& plan() const;
  // Writes the trace; what it holds is in the manifest returned.
  TraceManifest run(const ReportProgress& report);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace atlas
