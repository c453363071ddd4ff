#include <medley/text/special_ids.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>

namespace medley {
namespace {

// What medley's tokens may be called in a vocabulary; the first that is there is taken.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kElsewhere = {
    {{"<pad>", "<|finetune_right_pad_id|>"},  // Llama 3.1
     {"<pad>", "<|endoftext|>"},              // Qwen
     {"<eos>", "<|im_end|>"},
     {"<eos>", "<|eot_id|>"},  // Llama 3
     {"<eos>", "<|end_of_text|>"},
     {"<image>", "<|vision_start|>"},
     {"</image>", "<|vision_end|>"}}};

bool IsSpecialToken(std::string_view name) {
  return std::ranges::find(kSpecialTokens, name) != kSpecialTokens.end();
}

void CheckNames(const SpecialTokenNames& names, const std::string& file) {
  std::map<std::string_view, std::string_view> named;  // by name in the vocabulary
  for (const auto& [token, name] : names) {
    if (!IsSpecialToken(token)) {
      throw InputError("special_tokens: " +
                       NoSuchName("special token", token, {kSpecialTokens.begin(), kSpecialTokens.end()}));
    }
    const std::string what = "special_tokens." + token + ": '" + Printable(name) + "' in " + file;
    if (name.empty()) throw InputError(what + " is empty; expected a token");
    if (name != token && IsSpecialToken(name))
      throw InputError(what +
                       " is medley's name of another token; expected the vocabulary's name of this one");
    if (const auto [other, is_new] = named.emplace(name, token); !is_new)
      throw InputError(what + " is " + std::string(other->second) +
                       " already; leave one out, and it gets a token of its own");
  }
}

class Finder {
 public:
  Finder(const TokenizerJson& tokenizer, const SpecialTokenNames& names) : names_(names) {
    std::map<std::string_view, std::int64_t> wanted;
    for (const std::string_view token : kSpecialTokens) wanted.emplace(token, -1);
    for (const auto& [token, name] : kElsewhere) wanted.emplace(name, -1);
    for (const auto& [token, name] : names) wanted.emplace(name, -1);
    for (std::size_t id = 0; id < tokenizer.tokens.size(); ++id) {
      if (const auto found = wanted.find(tokenizer.tokens[id]); found != wanted.end())
        found->second = static_cast<std::int64_t>(id);
    }
    for (const auto& [name, id] : wanted) {
      if (id >= 0) ids_.emplace(name, id);
    }
  }

  // -1 where the vocabulary has it not.
  std::int64_t Find(std::string_view token) const {
    if (const auto given = names_.find(token); given != names_.end()) return IdOf(given->second);
    std::int64_t id = Free(token);
    for (const auto& [known, name] : kElsewhere) {
      if (known == token && id < 0) id = Free(name);
    }
    return id;
  }

 private:
  std::int64_t IdOf(std::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? -1 : found->second;
  }
  // What the config gives to another token is not taken.
  std::int64_t Free(std::string_view name) const {
    for (const auto& [token, given] : names_) {
      if (given == name) return -1;
    }
    return IdOf(name);
  }

  const SpecialTokenNames& names_;
  std::map<std::string_view, std::int64_t> ids_;
};

}  // namespace

SpecialIds FindSpecialTokens(const TokenizerJson& tokenizer, const SpecialTokenNames& names,
                             const std::string& file) {
  CheckNames(names, file);
  const Finder finder(tokenizer, names);
  SpecialIds special;
  for (std::size_t i = 0; i < kSpecialTokens.size(); ++i) {
    special.ids.at(i) = finder.Find(kSpecialTokens.at(i));
    if (special.ids.at(i) >= 0) continue;
    special.ids.at(i) = static_cast<std::int64_t>(tokenizer.tokens.size() + special.added.size());
    const auto given = names.find(kSpecialTokens.at(i));
    special.added.emplace_back(given == names.end() ? kSpecialTokens.at(i) : given->second);
  }
  return special;
}

void RequireOwnNames(const SpecialTokenNames& names, const std::string& file) {
  CheckNames(names, file);
  for (const auto& [token, name] : names) {
    if (name != token)
      throw InputError(
          "special_tokens." + token + ": " + file +
          " is a SentencePiece model, which has medley's special tokens under medley's names; remove "
          "the key");
  }
}

}  // namespace medley
