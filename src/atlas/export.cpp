// See export.h.
#include "atlas/export.h"

#include <fmt/format.h>

#include "atlas/reference_json.h"
#include "atlas/show.h"

namespace atlas {

std::string web_export(const Atlas& atlas) { return reference_web_experts_json(atlas.reference).dump() + "\n"; }

std::string csv_export(const Atlas& atlas) {
  std::string text = "layer,expert,status,total,top_topic,specialisation,top_lift,fired_runs,total_runs";
  for (const std::string& topic : atlas.topics) text += ",affinity_" + topic;
  text += "\r\n";
  for (const ReferenceExpert& expert : atlas.reference.every_expert) {
    text += fmt::format("{},{},{},{},{},{},{},{},{}", expert.layer, expert.expert, status_name(expert.status), expert.total,
                        atlas.topics[expert.top_topic], expert.specialisation, expert.top_lift, expert.fired_runs, expert.total_runs);
    for (const double affinity : expert.affinity) text += fmt::format(",{}", affinity);
    text += "\r\n";
  }
  return text;
}

}  // namespace atlas
