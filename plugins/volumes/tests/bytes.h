#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/error.h>
#include <medley/text/tokenizer.h>

namespace medley_volumes {

// A vocabulary that a test can write down: four special tokens, then a token a byte.
class ByteTokenizer final : public medley::Tokenizer {
 public:
  explicit ByteTokenizer(std::int64_t size = 300) : size_(size) {}

  std::vector<std::int64_t> Encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    while (!text.empty()) {
      std::size_t taken = 0;
      for (std::size_t i = 0; i < kSpecial.size() && taken == 0; ++i) {
        if (text.starts_with(kSpecial[i]))
          ids.push_back(static_cast<std::int64_t>(i)), taken = kSpecial[i].size();
      }
      if (taken == 0) ids.push_back(kFirstByte + static_cast<unsigned char>(text[0])), taken = 1;
      text.remove_prefix(taken);
    }
    return ids;
  }
  std::string Decode(const std::vector<std::int64_t>& ids) const override {
    std::string text;
    for (const std::int64_t id : ids) text += Piece(id);
    return text;
  }
  std::string Piece(std::int64_t id) const override {
    if (id < kFirstByte) return std::string(kSpecial[static_cast<std::size_t>(id)]);
    return std::string(1, static_cast<char>(id - kFirstByte));
  }
  std::int64_t Id(std::string_view special_token) const override {
    const std::vector<std::int64_t> ids = Encode(special_token);
    if (ids.size() != 1) throw medley::Error("no such token");
    return ids[0];
  }
  bool Has(std::string_view special_token) const override { return Encode(special_token).size() == 1; }
  std::int64_t size() const override { return size_; }
  std::string hash() const override { return "bytes"; }

 private:
  static constexpr std::array<std::string_view, 4> kSpecial = {"<pad>", "<eos>", "<image>", "</image>"};
  static constexpr std::int64_t kFirstByte = 4;
  std::int64_t size_;
};

inline const ByteTokenizer kBytes;

}  // namespace medley_volumes
