#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/text/tokenizer.h>

namespace medley::testing {

// Bytes are ids; the special tokens are those that it is given.
class FakeTokenizer : public Tokenizer {
 public:
  explicit FakeTokenizer(std::vector<std::string> special = {"<pad>", "<eos>"})
      : special_(std::move(special)) {}

  std::vector<std::int64_t> Encode(std::string_view text) const override {
    return {text.begin(), text.end()};
  }
  std::string Decode(const std::vector<std::int64_t>& ids) const override { return {ids.begin(), ids.end()}; }
  std::string Piece(std::int64_t id) const override { return std::string(1, static_cast<char>(id)); }
  std::int64_t Id(std::string_view token) const override {
    for (std::size_t i = 0; i < special_.size(); ++i) {
      if (special_[i] == token) return static_cast<std::int64_t>(256 + i);
    }
    throw Error("the fake tokenizer has no " + std::string(token));
  }
  bool Has(std::string_view token) const override {
    return std::find(special_.begin(), special_.end(), token) != special_.end();
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(256 + special_.size()); }
  std::string hash() const override { return "fake"; }

 private:
  std::vector<std::string> special_;
};

}  // namespace medley::testing
