// An atlas in words and small tables, for a terminal, and the same facts as JSON. Text only: printing is src/cli's business.
#pragma once

#include <string>

#include "atlas/atlas.h"

namespace atlas {

const char* status_name(ExpertStatus status);  // "kept", "sparse", "unreplicated"

std::string summary_text(const Atlas& atlas);  // what was measured and how well it holds on held-out prompts, in a few lines
std::string topics_text(const Atlas& atlas);   // a row a topic: hits, strong experts, its strongest experts
Json summary_json(const Atlas& atlas);

// One topic: its strongest experts and the prompts that were held out. Throws Error that lists the topics if there is none of this name.
std::string topic_text(const Atlas& atlas, const std::string& topic);
Json topic_json(const Atlas& atlas, const std::string& topic);

// With fewer experts than a few times top-k, a topic's set takes nearly every expert that the topic ever used.
bool sets_are_whole_lists(const Atlas& atlas);
std::uint64_t suggested_top_k(const Atlas& atlas);

}  // namespace atlas
