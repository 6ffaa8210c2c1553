// Settings and progress that the loops share. Includes nothing of torch, so that the command line can set them.
#pragma once

#include <cstdint>
#include <functional>

namespace atlas {

struct StepOptions {
  std::int64_t block_tokens = 8192;                   // tokens whose intermediate values are in memory together
  std::int64_t score_bytes = std::int64_t{64} << 20;  // of attention scores in memory together
};

struct PrefillOptions {
  StepOptions step;
  double state_seconds = 5;  // hidden states are kept on disk after a layer when this long has passed, so that a killed capture can go on
};

// Called after each layer: the stage ("answers", "capture"), the bytes of weights that have gone through, and those of the whole stage.
using ReportProgress = std::function<void(const char* stage, std::uint64_t done_bytes, std::uint64_t total_bytes)>;

}  // namespace atlas
