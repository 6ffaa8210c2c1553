// What several tests need: a folder that goes away, and the problems of a refusal. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"

namespace atlas {

class TestFolder {
 public:
  TestFolder() {
    std::string form = (std::filesystem::temp_directory_path() / "atlas-test-XXXXXX").string();
    if (::mkdtemp(form.data()) == nullptr) throw std::runtime_error("no temporary folder: " + form);
    path_ = form;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// The problems that `run` throws, each as one sentence; none (and a failed test) if it throws nothing.
template <typename Run>
std::vector<std::string> problems_of(Run run) {
  std::vector<std::string> texts;
  try {
    run();
    ADD_FAILURE() << "expected an Error";
  } catch (const Error& error) {
    for (const Problem& problem : error.problems()) texts.push_back(to_string(problem));
  }
  return texts;
}

template <typename Run>
std::string problem_of(Run run) {  // the same where there is just one
  const std::vector<std::string> texts = problems_of(run);
  EXPECT_EQ(texts.size(), 1U);
  return texts.empty() ? "" : texts[0];
}

}  // namespace atlas
