// SHA-256 of bytes, as 64 hexadecimal digits (OpenSSL's libcrypto). Names inputs in manifests and atlas files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace atlas {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::span<const std::byte> bytes);
  std::string hex();  // ends the sum

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace atlas
