#include <medley/text/sentencepiece_tokenizer.h>

#include <sentencepiece_processor.h>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/text/special_tokens.h>

#include <array>
#include <cstdio>
#include <exception>
#include <map>

namespace medley {
namespace {

// SentencePiece writes a space as this character, which therefore cannot stand for itself in a piece.
constexpr std::string_view kSpaceMark = "\xe2\x96\x81";

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(const std::string& bytes, const std::string& file)
      : file_(file), hash_(HashText(bytes)) {
    if (const std::string why = bytes.empty() ? "it is empty" : WhyNotLoaded(bytes); !why.empty()) {
      throw InputError(file_ + ": neither a tokenizer.json nor a SentencePiece vocabulary (" + why +
                       "); make one with: medley tokenizer train --corpus FILE --out FILE");
    }
    for (const std::string_view name : kSpecialTokens) {
      const int id = processor_.PieceToId(std::string(name));
      if (processor_.IdToPiece(id) == name) special_.emplace(name, id);
    }
    for (int id = 0; id < processor_.GetPieceSize(); ++id) pieces_.push_back(TextOf(id));
  }

  std::vector<std::int64_t> Encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    while (true) {
      const std::size_t mark = text.find(kSpaceMark);
      for (const int id : processor_.EncodeAsIds(std::string(text.substr(0, mark)))) ids.push_back(id);
      if (mark == std::string_view::npos) return ids;
      for (const char c : kSpaceMark) ids.push_back(ByteId(c));
      text.remove_prefix(mark + kSpaceMark.size());
    }
  }

  std::string Decode(const std::vector<std::int64_t>& ids) const override {
    std::string text;
    for (const std::int64_t id : ids) text += pieces_[Checked(id)];
    return text;
  }

  std::string Piece(std::int64_t id) const override {
    return processor_.IdToPiece(static_cast<int>(Checked(id)));
  }

  std::int64_t Id(std::string_view name) const override {
    const auto found = special_.find(name);
    if (found != special_.end()) return found->second;
    std::string known;
    for (const auto& [token, id] : special_) known += " " + token;
    throw InputError(file_ + ": the vocabulary has no token " + std::string(name) +
                     (known.empty() ? ", and no special token at all" : "; it has" + known) +
                     ". Make a new one with: medley tokenizer train");
  }

  bool Has(std::string_view name) const override { return special_.contains(name); }
  std::int64_t size() const override { return processor_.GetPieceSize(); }
  std::string hash() const override { return hash_; }

 private:
  // A damaged one has a status, or throws what its trie does (of a piece that is empty).
  std::string WhyNotLoaded(const std::string& bytes) {
    try {
      const auto status = processor_.LoadFromSerializedProto(bytes);
      return status.ok() ? "" : status.ToString();
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  std::size_t Checked(std::int64_t id) const {
    if (id >= 0 && id < size()) return static_cast<std::size_t>(id);
    throw Error(file_ + ": token " + std::to_string(id) + " is outside the vocabulary of " +
                std::to_string(size()));
  }

  int ByteId(char c) const {
    std::array<char, 8> name{};
    std::snprintf(name.data(), name.size(), "<0x%02X>", static_cast<unsigned char>(c));
    return processor_.PieceToId(name.data());
  }

  // What a token stands for. SentencePiece's own decoding drops spaces at the start and joins bytes to
  // characters.
  std::string TextOf(int id) const {
    const std::string piece = processor_.IdToPiece(id);
    if (processor_.IsByte(id))
      return std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));
    if (processor_.IsUnknown(id)) return "\xef\xbf\xbd";  // U+FFFD
    std::string text;
    for (std::string_view rest = piece; !rest.empty();) {
      const bool space = rest.substr(0, kSpaceMark.size()) == kSpaceMark;
      text.push_back(space ? ' ' : rest.front());
      rest.remove_prefix(space ? kSpaceMark.size() : 1);
    }
    return text;
  }

  std::string file_, hash_;
  sentencepiece::SentencePieceProcessor processor_;
  std::map<std::string, std::int64_t, std::less<>> special_;
  std::vector<std::string> pieces_;
};

}  // namespace

std::unique_ptr<Tokenizer> MakeSentencePieceTokenizer(const std::string& bytes, const std::string& file) {
  return std::make_unique<SentencePieceTokenizer>(bytes, file);
}

}  // namespace medley
