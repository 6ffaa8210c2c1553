// The page: one HTML file that shows an atlas in a browser, with nothing beside it and nothing fetched. viewer/ makes the template, the build
// embeds it (cmake/page.cmake), `expert-atlas page` writes the result.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace atlas {

// viewer/dist/page.html as it was when this program was built.
std::string_view page_template();

// The atlas as the page needs it: what it does not read (sums of router weights) or works out itself from counts (affinities by phase) left
// out, whole numbers in the smallest type that holds them, other numbers as f32: seven digits, and four where only a chart shows them. A page
// of a large model is a third of its atlas.
Json compact_for_page(Json atlas);

// JSON that can stand inside a <script> element: every "<" is written \u003c, so that no text in it can end the element or open another.
std::string json_for_script(const Json& json);

// `html_template` with the atlas in its place. Throws Error if the template has no such place, or more than one.
std::string page_html(std::string_view html_template, const Json& atlas);

}  // namespace atlas
