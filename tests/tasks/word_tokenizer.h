#pragma once

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/error.h>
#include <medley/text/tokenizer.h>

namespace medley {

// One token for each word, each mark and each <token> of the texts that it is made from; texts come back as
// they were.
class WordTokenizer final : public Tokenizer {
 public:
  explicit WordTokenizer(const std::vector<std::string>& texts) {
    for (const char* special : {"<eos>", "<other>", "<pad>"}) Learn(special);  // the pad is not 0
    for (const std::string& text : texts) {
      for (const std::string& piece : Split(text)) Learn(piece);
    }
  }

  std::vector<std::int64_t> Encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    for (const std::string& piece : Split(text)) {
      const auto found = ids_.find(piece);
      ids.push_back(found == ids_.end() ? 1 : found->second);
    }
    return ids;
  }
  std::string Decode(const std::vector<std::int64_t>& ids) const override {
    std::string text;
    for (const std::int64_t id : ids) {
      const std::string piece = Piece(id);
      const bool mark = piece.size() == 1 && std::ispunct(static_cast<unsigned char>(piece[0])) != 0;
      if (!text.empty() && !mark) text += ' ';
      text += piece;
    }
    return text;
  }
  std::string Piece(std::int64_t id) const override { return pieces_.at(static_cast<std::size_t>(id)); }
  std::int64_t Id(std::string_view special) const override {
    const auto found = ids_.find(std::string(special));
    if (found == ids_.end()) throw InputError("no token " + std::string(special));
    return found->second;
  }
  bool Has(std::string_view special) const override { return ids_.count(std::string(special)) > 0; }
  std::int64_t size() const override { return static_cast<std::int64_t>(pieces_.size()); }
  std::string hash() const override { return "words"; }

 private:
  static std::vector<std::string> Split(std::string_view text) {
    std::vector<std::string> pieces;
    bool in_word = false, in_token = false;
    for (const char c : text) {
      const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
      if (c == ' ') {
        in_word = false;
      } else if (in_token) {
        pieces.back() += c;
        in_token = c != '>';
      } else if (c == '<') {
        pieces.emplace_back(1, c);
        in_token = true;
        in_word = false;
      } else if (letter && in_word) {
        pieces.back() += c;
      } else {
        pieces.emplace_back(1, c);
        in_word = letter;
      }
    }
    return pieces;
  }
  void Learn(const std::string& piece) {
    if (ids_.emplace(piece, size()).second) pieces_.push_back(piece);
  }

  std::map<std::string, std::int64_t> ids_;
  std::vector<std::string> pieces_;
};

}  // namespace medley
