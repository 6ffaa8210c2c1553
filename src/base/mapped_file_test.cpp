// Tests of mapped files and of files that appear whole or not at all.
#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>

#include "base/test_support.h"

namespace atlas {
namespace {

namespace fs = std::filesystem;

std::size_t entry_count(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(MappedFile, Shows_the_bytes_of_a_file_also_of_an_empty_one) {
  const TestFolder folder;
  EXPECT_EQ(MappedFile(folder.write("x", std::string("a\0b", 3))).text(), std::string_view("a\0b", 3));
  EXPECT_TRUE(MappedFile(folder.write("empty", "")).bytes().empty());
}

TEST(MappedFile, Released_bytes_can_be_looked_at_again) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 20000; i++) text += std::to_string(i);
  const MappedFile file(folder.write("x", text));
  file.release(text.size() / 2);
  EXPECT_EQ(file.text(), text);
  file.release(text.size() * 2);
  EXPECT_EQ(file.text(), text);
}

TEST(MappedFile, Moving_hands_the_bytes_over) {
  const TestFolder folder;
  MappedFile one(folder.write("x", "one")), two(folder.write("y", "two"));
  two = std::move(one);
  EXPECT_EQ(two.text(), "one");
  const MappedFile three(std::move(two));
  EXPECT_EQ(three.text(), "one");
}

TEST(MappedFile, Absent_files_and_folders_are_refused_by_name) {
  const TestFolder folder;
  EXPECT_EQ(problem_of([&] { MappedFile(folder / "absent"); }), (folder / "absent").string() + ": cannot open it: No such file or directory");
  EXPECT_EQ(problem_of([&] { MappedFile(folder.path()); }), folder.path().string() + ": not a regular file; expected a file");
}

TEST(AtomicFile, Appears_only_when_committed_and_leaves_what_was_there) {
  const TestFolder folder;
  folder.write("x", "old");
  {
    AtomicFile file(folder / "x");
    file.write("new");
    EXPECT_EQ(file_bytes(folder / "x"), "old");
  }
  EXPECT_EQ(file_bytes(folder / "x"), "old");
  EXPECT_EQ(entry_count(folder.path()), 1U);  // no temporary file stays
  write_file(folder / "x", "new");
  EXPECT_EQ(file_bytes(folder / "x"), "new");
  EXPECT_EQ(entry_count(folder.path()), 1U);
}

TEST(AtomicFile, A_folder_that_is_absent_is_refused) {
  EXPECT_NE(problem_of([] { write_file("absent-folder/x", "y"); }).find("cannot create it: No such file or directory"), std::string::npos);
}

TEST(AtomicFile, A_full_disk_is_an_error) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const TestFolder folder;
  // A link under the temporary name leads the writing to the device that is always full.
  fs::create_symlink("/dev/full", folder / ("x.partial-" + std::to_string(::getpid())));
  EXPECT_NE(problem_of([&] { write_file(folder / "x", "y"); }).find("cannot write it: No space left on device"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "x"));
}

TEST(MappedOutput, Is_filled_part_by_part_and_then_in_any_order) {
  const TestFolder folder;
  const std::array<MappedOutput::Part, 3> parts{{{std::byte{0xFF}, 3'000'000}, {std::byte{1}, 0}, {std::byte{0}, 2}}};
  {
    MappedOutput output(folder / "x", "head", parts);
    ASSERT_EQ(output.size(), 3'000'006U);
    output.data()[4 + 2'999'999] = std::byte{'b'};
    output.data()[4] = std::byte{'a'};
    output.release();
    output.data()[5] = std::byte{'c'};
    MappedOutput moved(std::move(output));
    moved.sync();
  }
  std::string expected = "head" + std::string(3'000'000, '\xFF') + std::string(2, '\0');
  expected[4] = 'a';
  expected[5] = 'c';
  expected[4 + 2'999'999] = 'b';
  EXPECT_EQ(file_bytes(folder / "x"), expected);
}

TEST(MappedOutput, A_full_disk_is_an_error_and_no_signal) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::array<MappedOutput::Part, 1> parts{{{std::byte{0}, 100}}};
  EXPECT_EQ(problem_of([&] { MappedOutput("/dev/full", "head", parts); }), "/dev/full: cannot write it: No space left on device");
}

}  // namespace
}  // namespace atlas
