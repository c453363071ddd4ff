#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// Text to ids and back. Special tokens ("<pad>", "<eos>", "<forward>", "<clock>", "<anticlock>", "<image>",
// "</image>") are written in the text by name and become one id each. Safe to use from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer();

  virtual std::vector<std::int64_t> Encode(std::string_view text) const = 0;
  // The same of a text in which names of special tokens are letters like any others. Decode gives it back as
  // it does what Encode gives. Here for a vocabulary that knows kSpecialTokens alone.
  virtual std::vector<std::int64_t> EncodeText(std::string_view text) const;
  // The names that EncodeText does not look for.
  virtual std::vector<std::string> SpecialNames() const;
  virtual std::string Decode(const std::vector<std::int64_t>& ids) const = 0;  // special tokens by name
  virtual std::string Piece(std::int64_t id) const = 0;
  // The id of a special token; an error that names the vocabulary where it has none.
  virtual std::int64_t Id(std::string_view special_token) const = 0;
  virtual bool Has(std::string_view special_token) const = 0;
  virtual std::int64_t size() const = 0;
  // Those of special tokens that the vocabulary's file has not: no published weights know them.
  virtual std::vector<std::int64_t> AddedIds() const { return {}; }
  // The hash of the vocabulary file; runs record it.
  virtual std::string hash() const = 0;

  std::int64_t pad() const { return Id("<pad>"); }
  std::int64_t eos() const { return Id("<eos>"); }
};

}  // namespace medley
