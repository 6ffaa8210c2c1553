// See sha256.h.
#include "base/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/error.h"

namespace atlas {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

static void require(bool done) {
  if (!done) throw Error(Problem{"SHA-256", "libcrypto refused", "a working libcrypto", ""});
}

Sha256::Sha256() : state_(std::make_unique<State>()) { require(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1); }
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) { require(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1); }

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1);
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; i++) {
    text += digits[digest.at(i) >> 4];
    text += digits[digest.at(i) & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.add(std::as_bytes(std::span(bytes.data(), bytes.size())));
  return sum.hex();
}

}  // namespace atlas
