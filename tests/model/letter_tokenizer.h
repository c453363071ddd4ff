#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/error.h>
#include <medley/text/tokenizer.h>

namespace medley::test {

// One id for each special token, then one for each ASCII character: no file, no training.
class LetterTokenizer : public Tokenizer {
 public:
  std::vector<std::int64_t> Encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    while (!text.empty()) {
      const auto special = std::find_if(kSpecial.begin(), kSpecial.end(), [&](std::string_view name) {
        return text.substr(0, name.size()) == name;
      });
      if (special != kSpecial.end()) {
        ids.push_back(special - kSpecial.begin());
        text.remove_prefix(special->size());
      } else {
        ids.push_back(static_cast<std::int64_t>(kSpecial.size()) + (text.front() & 0x7f));
        text.remove_prefix(1);
      }
    }
    return ids;
  }
  std::string Decode(const std::vector<std::int64_t>& ids) const override {
    std::string text;
    for (const std::int64_t id : ids) text += Piece(id);
    return text;
  }
  std::string Piece(std::int64_t id) const override {
    const auto count = static_cast<std::int64_t>(kSpecial.size());
    return id < count ? std::string(kSpecial[static_cast<std::size_t>(id)])
                      : std::string(1, static_cast<char>(id - count));
  }
  std::int64_t Id(std::string_view name) const override {
    const auto found = std::find(kSpecial.begin(), kSpecial.end(), name);
    if (found == kSpecial.end()) throw InputError("no such token");
    return found - kSpecial.begin();
  }
  bool Has(std::string_view name) const override {
    return std::find(kSpecial.begin(), kSpecial.end(), name) != kSpecial.end();
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(kSpecial.size()) + 128; }
  std::string hash() const override { return "letters"; }

 private:
  static constexpr std::array<std::string_view, 7> kSpecial = {
      "<pad>", "<eos>", "<forward>", "<clock>", "<anticlock>", "<image>", "</image>"};
};

}  // namespace medley::test
