#include <medley/text/byte_pair_tokenizer.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/text/byte_pairs.h>
#include <medley/text/normal_form.h>
#include <medley/text/special_ids.h>
#include <medley/text/tokenizer_json.h>
#include <medley/text/word_cutter.h>

namespace medley {
namespace {

// Ids of the words of one text: most stand in it many times.
class WordCache {
 public:
  WordCache(const BytePairs& pairs, std::vector<std::int64_t>& ids) : pairs_(pairs), ids_(ids) {}

  void Append(std::string_view word) {
    if (word.size() > kLongest) return pairs_.Encode(word, ids_);
    const auto [known, is_new] = known_.try_emplace(std::string(word));
    if (is_new) pairs_.Encode(word, known->second);
    ids_.insert(ids_.end(), known->second.begin(), known->second.end());
  }

 private:
  static constexpr std::size_t kLongest = 64;  // bytes

  const BytePairs& pairs_;
  std::vector<std::int64_t>& ids_;
  std::unordered_map<std::string, std::vector<std::int64_t>> known_;
};

// The bytes at the front that are whole characters.
std::size_t Utf8Prefix(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const std::size_t character = Utf8Length(text.substr(length));
    if (character == 0) break;
    length += character;
  }
  return length;
}

std::size_t PlaceOf(std::string_view special_token) {
  return static_cast<std::size_t>(std::ranges::find(kSpecialTokens, special_token) - kSpecialTokens.begin());
}

class BytePairTokenizer : public Tokenizer {
 public:
  BytePairTokenizer(const TokenizerJson& json, SpecialIds special, const std::string& file, std::string hash)
      : file_(file),
        hash_(std::move(hash)),
        special_(std::move(special)),
        nfc_(json.nfc),
        cutter_(json.steps, file),
        pairs_(json) {
    SetTexts(json);
    AddTokens(json.added);
  }

  std::vector<std::int64_t> Encode(std::string_view text) const override { return EncodeWith(all_, text); }
  std::vector<std::int64_t> EncodeText(std::string_view text) const override {
    return EncodeWith(of_texts_, text);
  }
  std::vector<std::string> SpecialNames() const override { return special_names_; }

  std::string Decode(const std::vector<std::int64_t>& ids) const override {
    std::string text;
    for (const std::int64_t id : ids) text += texts_[Checked(id)];
    return text;
  }

  std::string Piece(std::int64_t id) const override { return pieces_[Checked(id)]; }

  std::int64_t Id(std::string_view name) const override {
    if (Has(name)) return special_.ids.at(PlaceOf(name));
    throw InputError(file_ + ": the vocabulary has no special token " + std::string(name) + "; it has " +
                     Listed(kSpecialTokens));
  }

  bool Has(std::string_view name) const override { return PlaceOf(name) < kSpecialTokens.size(); }
  std::int64_t size() const override { return std::ssize(pieces_); }
  std::string hash() const override { return hash_; }

  std::vector<std::int64_t> AddedIds() const override {
    std::vector<std::int64_t> ids;
    for (std::int64_t id = size() - std::ssize(special_.added); id < size(); ++id) ids.push_back(id);
    return ids;
  }

 private:
  // Tokens that are found in texts before these are cut into words.
  struct Added {
    AddedTokens raw, normalized;
  };

  std::vector<std::int64_t> EncodeWith(const Added& added, std::string_view text) const {
    std::vector<std::int64_t> ids;
    WordCache words(pairs_, ids);
    while (!text.empty()) {
      const std::size_t length = Utf8Prefix(text);
      ForEachPiece(added.raw, text.substr(0, length), ids,
                   [&](std::string_view piece) { EncodePlain(added, piece, words, ids); });
      text.remove_prefix(length);
      if (text.empty()) break;
      words.Append(text.substr(0, 1));
      text.remove_prefix(1);
    }
    return ids;
  }

  template <typename Plain>
  static void ForEachPiece(const AddedTokens& tokens, std::string_view text, std::vector<std::int64_t>& ids,
                           const Plain& plain) {
    for (const AddedTokens::Piece& piece : tokens.Cut(text)) {
      if (piece.id >= 0) {
        ids.push_back(piece.id);
      } else {
        plain(piece.text);
      }
    }
  }

  void EncodePlain(const Added& added, std::string_view text, WordCache& words,
                   std::vector<std::int64_t>& ids) const {
    std::string normal;
    if (nfc_) text = normal = NormalFormC(text);
    ForEachPiece(added.normalized, text, ids, [&](std::string_view piece) {
      cutter_.Cut(piece, [&](std::string_view word) { words.Append(word); });
    });
  }

  // The vocabulary's own, then medley's names for tokens that are called something else there.
  void AddTokens(const std::vector<AddedToken>& tokens) {
    for (AddedToken token : tokens) {
      const bool is_special = token.special || IsMedleys(token.id);
      if (is_special) special_names_.push_back(token.content);
      if (token.normalized && nfc_) token.content = NormalFormC(token.content);
      AddedTokens Added::*const kind = token.normalized ? &Added::normalized : &Added::raw;
      (all_.*kind).Add(token);
      if (!is_special) (of_texts_.*kind).Add(token);
    }
    for (std::size_t i = 0; i < kSpecialTokens.size(); ++i)
      AddSpecial(std::string(kSpecialTokens.at(i)), special_.ids.at(i));
    const std::int64_t first = std::ssize(pieces_) - std::ssize(special_.added);
    for (std::size_t i = 0; i < special_.added.size(); ++i)
      AddSpecial(special_.added[i], first + static_cast<std::int64_t>(i));
  }
  void AddSpecial(const std::string& name, std::int64_t id) {
    all_.raw.Add({.content = name, .id = id});
    special_names_.push_back(name);
  }
  bool IsMedleys(std::int64_t id) const { return std::ranges::find(special_.ids, id) != special_.ids.end(); }

  // What each id stands for: the bytes that a token of the model spells, the text of an added token, and
  // medley's names of its special tokens.
  void SetTexts(const TokenizerJson& json) {
    pieces_ = texts_ = json.tokens;
    for (std::size_t id = 0; id < texts_.size(); ++id) {
      if (json.in_model[id]) texts_[id] = BytesOfToken(texts_[id]).value_or(texts_[id]);
    }
    for (const AddedToken& token : json.added) texts_[static_cast<std::size_t>(token.id)] = token.content;
    pieces_.insert(pieces_.end(), special_.added.begin(), special_.added.end());
    texts_.resize(pieces_.size());
    for (std::size_t i = 0; i < kSpecialTokens.size(); ++i)
      texts_[static_cast<std::size_t>(special_.ids.at(i))] = kSpecialTokens.at(i);
  }

  std::size_t Checked(std::int64_t id) const {
    if (id >= 0 && id < size()) return static_cast<std::size_t>(id);
    throw Error(file_ + ": token " + std::to_string(id) + " is outside the vocabulary of " +
                std::to_string(size()));
  }

  std::string file_, hash_;
  SpecialIds special_;
  bool nfc_;
  Added all_, of_texts_;  // the latter without special ones
  std::vector<std::string> special_names_;
  WordCutter cutter_;
  BytePairs pairs_;
  std::vector<std::string> pieces_, texts_;  // by id: as the file spells it; what it stands for
};

// Of the file, and of the special tokens where they are others than the file alone would give.
std::string HashOf(std::string_view text, const SpecialIds& special, const SpecialIds& defaults) {
  if (special.ids == defaults.ids && special.added == defaults.added) return HashText(text);
  std::string settings = HashText(text);
  for (const std::int64_t id : special.ids) settings.append(" ").append(std::to_string(id));
  for (const std::string& name : special.added) settings.append("\n").append(name);
  return HashText(settings);
}

}  // namespace

std::unique_ptr<Tokenizer> MakeBytePairTokenizer(std::string_view json, const std::string& file,
                                                 const SpecialTokenNames& special_tokens) {
  const TokenizerJson read = ReadTokenizerJson(json, file);
  SpecialIds special = FindSpecialTokens(read, special_tokens, file);
  std::string hash = HashOf(json, special, FindSpecialTokens(read, {}, file));
  return std::make_unique<BytePairTokenizer>(read, std::move(special), file, std::move(hash));
}

}  // namespace medley
