// Writes a trace layer by layer. Used by the runtime's capture and by the importers.
#pragma once

#include <filesystem>
#include <string>

#include "trace/trace.h"

namespace atlas {

enum class Existing { refuse, resume, replace };  // what to do with a trace that is already there

// The manifest and token table are written first, then each layer as it comes, each file whole or not at all. So a killed capture loses
// at most the layer in hand, and a later one with Existing::resume asks has_layer() and goes on from the next.
class TraceWriter {
 public:
  // Throws Error if the folder holds a trace (refuse), holds one that differs in anything but missing layers (resume: the Error lists the
  // fields that differ), or holds files that are no trace (replace deletes a trace only).
  TraceWriter(std::filesystem::path folder, TraceManifest manifest, const TokenTable& tokens, Existing existing = Existing::refuse);

  const TraceManifest& manifest() const { return manifest_; }
  std::filesystem::path layer_path(std::uint32_t layer) const;
  bool has_layer(std::uint32_t layer) const;  // its file is there and passes the checks of Trace

  // Ids of a row must differ and lie below expert_count; shapes as in LayerRoutes. Our own bug otherwise, so asserted, but sizes are thrown.
  void write_layer(const LayerRoutes& routes);

  // Replaces the list of missing rows, for writers that learn it on the way.
  void set_missing(std::vector<MissingRows> missing);

 private:
  std::filesystem::path folder_;
  TraceManifest manifest_;
};

// Deletes the trace in `folder`, whole or interrupted. Throws Error, deleting nothing, if anything else lies there; check_removable() only asks.
void check_removable(const std::filesystem::path& folder);
void remove_trace(const std::filesystem::path& folder);

}  // namespace atlas
