// See mapped_file.h.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace atlas {

static Error system_error(const std::filesystem::path& path, const char* doing) {
  const std::string reason = std::strerror(errno);
  return Error(Problem{path.string(), std::string("cannot ") + doing + " it: " + reason, "", ""});
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw system_error(path, "open");
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    throw Error(Problem{path.string(), "not a regular file", "a file", ""});
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > 0) {
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) {
      ::close(file);
      throw system_error(path, "map");
    }
    data_ = static_cast<const std::byte*>(mapped);
  }
  ::close(file);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::size_t end) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole_pages = std::min(end, size_) / page * page;
  if (whole_pages > 0) ::madvise(const_cast<std::byte*>(data_), whole_pages, MADV_DONTNEED);
}

static void write_all(int file, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw system_error(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
  temporary_ += ".partial-" + std::to_string(::getpid());
  file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) throw system_error(temporary_, "create");
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) { write_all(file_, bytes, temporary_); }

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::commit() {
  if (::fsync(file_) != 0) throw system_error(temporary_, "sync");
  ::close(std::exchange(file_, -1));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw system_error(path_, "rename to");
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

// Writes what MappedOutput says into a new file and maps it; the caller closes `file`.
static std::byte* fill_and_map(int file, const std::filesystem::path& path, std::string_view head, std::span<const MappedOutput::Part> parts,
                               std::size_t size) {
  write_all(file, std::as_bytes(std::span(head.data(), head.size())), path);
  std::vector<std::byte> block;
  for (const MappedOutput::Part& part : parts) {
    block.assign(std::min<std::uint64_t>(part.byte_count, std::uint64_t{1} << 20), part.fill);
    for (std::uint64_t left = part.byte_count; left > 0; left -= std::min<std::uint64_t>(left, block.size()))
      write_all(file, std::span(block).first(std::min<std::uint64_t>(left, block.size())), path);
  }
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) throw system_error(path, "map");
  return static_cast<std::byte*>(mapped);
}

MappedOutput::MappedOutput(std::filesystem::path path, std::string_view head, std::span<const Part> parts)
    : path_(std::move(path)), size_(head.size()) {
  for (const Part& part : parts) size_ += part.byte_count;
  const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw system_error(path_, "create");
  try {
    data_ = fill_and_map(file, path_, head, parts, size_);
  } catch (const Error&) {
    ::close(file);
    throw;
  }
  ::close(file);
}

MappedOutput::MappedOutput(MappedOutput&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedOutput::~MappedOutput() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void MappedOutput::release() const { ::madvise(data_, size_, MADV_DONTNEED); }

void MappedOutput::sync() const {
  if (::msync(data_, size_, MS_SYNC) != 0) throw system_error(path_, "sync");
}

void sync_folder(const std::filesystem::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace atlas
