#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/text/tokenizer.h>

namespace medley {

// A token for each byte, and one for each special name, which are written <NAME>.
class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(std::vector<std::string> special) : special_(std::move(special)) {}

  std::vector<std::int64_t> Encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    while (!text.empty()) {
      const std::size_t found = Leading(text);
      if (found < special_.size()) {
        ids.push_back(kBytes + static_cast<std::int64_t>(found));
        text.remove_prefix(special_[found].size());
      } else {
        ids.push_back(static_cast<unsigned char>(text[0]));
        text.remove_prefix(1);
      }
    }
    return ids;
  }
  std::vector<std::int64_t> EncodeText(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  // As published vocabularies have it: the names of thoughts are tokens, and none that texts may not have.
  std::vector<std::string> SpecialNames() const override {
    std::vector<std::string> names = special_;
    std::erase_if(names, [](const std::string& name) { return name.ends_with("think>"); });
    return names;
  }
  std::string Decode(const std::vector<std::int64_t>& ids) const override {
    std::string text;
    for (const std::int64_t id : ids) text += Piece(id);
    return text;
  }
  std::string Piece(std::int64_t id) const override {
    return id < kBytes ? std::string(1, static_cast<char>(id))
                       : special_.at(static_cast<std::size_t>(id - kBytes));
  }
  std::int64_t Id(std::string_view special) const override {
    for (std::size_t i = 0; i < special_.size(); ++i) {
      if (special_[i] == special) return kBytes + static_cast<std::int64_t>(i);
    }
    throw InputError("no token " + std::string(special));
  }
  bool Has(std::string_view special) const override { return Leading(special) < special_.size(); }
  std::int64_t size() const override { return kBytes + std::ssize(special_); }
  std::string hash() const override { return "bytes"; }

 private:
  static constexpr std::int64_t kBytes = 256;

  std::size_t Leading(std::string_view text) const {
    std::size_t found = 0;
    while (found < special_.size() && !text.starts_with(special_[found])) ++found;
    return found;
  }

  std::vector<std::string> special_;
};

}  // namespace medley
