// SHA-256 against the examples of FIPS 180-2 (appendix B).
#include "base/sha256.h"

#include <gtest/gtest.h>

namespace atlas {
namespace {

TEST(Sha256, Gives_the_standard_s_examples) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, Parts_sum_up_to_the_whole) {
  Sha256 sum;
  for (const std::string_view part : {"a", "", "bc"}) sum.add(std::as_bytes(std::span(part.data(), part.size())));
  EXPECT_EQ(sum.hex(), sha256_hex("abc"));
}

}  // namespace
}  // namespace atlas
