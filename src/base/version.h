// Which build this is; written by cmake/version.cmake. Shown by --version and kept in traces and atlas files made by our own engine.
#pragma once

namespace atlas {

extern const char* const version;  // "0.1.0"
extern const char* const commit;   // "1a2b3c4d5e6f", with ", changed" if built from a changed tree

}  // namespace atlas
