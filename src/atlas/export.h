// Other forms of an atlas. Used by `expert-atlas export`.
#pragma once

#include <string>

#include "atlas/atlas.h"

namespace atlas {

std::string web_export(const Atlas& atlas);  // the reference's web experts, as JSON
std::string csv_export(const Atlas& atlas);  // one row for every expert seen: identity, status, statistics, affinity by topic (RFC 4180)

}  // namespace atlas
