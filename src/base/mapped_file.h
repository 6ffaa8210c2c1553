// A whole file as bytes, and files that appear whole or not at all. Used by every reader and writer of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace atlas {

// A file mapped for reading: nothing is read before it is looked at. Movable, not copyable; the bytes live as long as this does.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);  // throws Error if it cannot be opened or is no regular file
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  const std::filesystem::path& path() const { return path_; }

  // Gives back the memory of the bytes below `end`, for readers that go through a large file once. Looking at them again is allowed.
  void release(std::size_t end) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A file being written under a temporary name beside `path`; commit() syncs it and gives it its name. Without commit() (an error, a kill)
// nothing appears under `path`, and what was there before stays.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);  // appends; throws Error (disk full and the like)
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int file_ = -1;
};

void write_file(const std::filesystem::path& path, std::string_view text);  // AtomicFile in one call

// A new file that is filled in any order through a mapping. All its bytes are written once beforehand, so that a full disk is an Error
// here and not a signal later. Under its own name at once: for files in a folder that gets its name when all are done.
class MappedOutput {
 public:
  struct Part {
    std::byte fill{};
    std::uint64_t byte_count = 0;
  };
  MappedOutput(std::filesystem::path path, std::string_view head, std::span<const Part> parts);
  MappedOutput(MappedOutput&& other) noexcept;
  MappedOutput& operator=(MappedOutput&& other) = delete;
  ~MappedOutput();

  std::byte* data() { return data_; }  // [size()], from the start of the head
  std::size_t size() const { return size_; }
  void release() const;  // gives back the memory of what was written so far; the file keeps it
  void sync() const;     // throws Error if the disk refuses

 private:
  std::filesystem::path path_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Makes renames and new files in `folder` last: without it a renamed file can be lost with the machine, since a rename is an entry of its folder.
void sync_folder(const std::filesystem::path& folder);

}  // namespace atlas
