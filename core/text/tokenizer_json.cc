#include <medley/text/tokenizer_json.h>

#include <unordered_map>
#include <unordered_set>

#include <medley/base/json_text.h>
#include <medley/base/utf8.h>
#include <medley/text/tokenizer_steps.h>

namespace medley {
namespace {

using Ids = std::unordered_map<std::string_view, std::int32_t>;

// A vocabulary of 200,000 tokens with as many merges as pairs is 900,000 values.
constexpr JsonLimits kTokenizerLimits = {.values = std::size_t{1} << 22};
constexpr std::int64_t kMostTokens = 1 << 24;
constexpr std::size_t kLongestAdded = 4096;  // bytes: each is looked for at each place of a text

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return JsonText(nlohmann::json(CutText(text, kShown)));
}

std::int32_t IdOf(const JsonValue& value) {
  const nlohmann::json& id = value.node().scalar;
  if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kMostTokens)
    value.Fail("expected an id from 0 to " + std::to_string(kMostTokens - 1) + ", found " +
               Describe(value.node()));
  return id.get<std::int32_t>();
}

// Settings of a model that change its ids, and that byte-level vocabularies have not.
void CheckModel(const JsonValue& model) {
  if (const auto type = model.Find("type"); type && type->Text() != "BPE")
    type->Fail("the model " + Describe(type->node()) +
               " is not one that medley reads; expected BPE, byte-level");
  if (const auto fallback = model.Find("byte_fallback"); fallback && fallback->Flag())
    fallback->Fail("byte_fallback is for vocabularies that are not byte-level; medley reads false only");
  if (const auto dropout = model.Find("dropout"); dropout && dropout->node().scalar != 0)
    dropout->Fail("dropout makes a text's ids random, which medley does not; remove it, or set it to null");
  for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const auto text = model.Find(affix); text && !text->Text().empty())
      text->Fail(std::string(affix) + " is for vocabularies that are not byte-level; medley reads \"\" only");
  }
}

// The model and the added tokens, each token at the place of its id.
class Reader {
 public:
  Reader(const JsonValue& root, TokenizerJson& tokenizer)
      : root_(root), model_(root.Require("model")), out_(tokenizer) {}

  void Read() {
    CheckModel(model_);
    const auto added = root_.Find("added_tokens");
    ReadVocabulary(added ? added->Array().node().elements.size() : 0);
    if (added) ReadAdded(*added);
    CheckIds();
    ReadMerges(model_.Require("merges").Array());
    ReadUnknown();
    out_.ignore_merges = Flag("ignore_merges");
    out_.fuse_unknown = Flag("fuse_unk");
  }

 private:
  bool Flag(std::string_view key) const {
    const auto flag = model_.Find(key);
    return flag && flag->Flag();
  }

  // All ids are smaller than the number of tokens: what is larger leaves a hole.
  void ReadVocabulary(std::size_t added) {
    const JsonValue vocabulary = model_.Require("vocab").Object();
    const std::size_t most = vocabulary.node().members.size() + added;
    out_.tokens.resize(most);
    out_.in_model.resize(most);
    taken_.resize(most);
    ids_.reserve(vocabulary.node().members.size());
    for (std::size_t i = 0; i < vocabulary.node().members.size(); ++i) {
      const JsonMember& member = vocabulary.node().members[i];
      const std::int32_t id = Take(vocabulary.Member(i), member.key);
      out_.in_model[static_cast<std::size_t>(id)] = true;
      ids_.emplace(member.key, id);
    }
  }

  std::int32_t Take(const JsonValue& value, const std::string& token) {
    const std::int32_t id = IdOf(value);
    const auto place = static_cast<std::size_t>(id);
    if (place >= taken_.size())
      value.Fail("the id " + std::to_string(id) + " of " + Quoted(token) +
                 " is too large for a vocabulary of at most " + std::to_string(taken_.size()) +
                 " tokens; expected ids from 0 on, without a hole");
    if (taken_[place])
      value.Fail("the id " + std::to_string(id) + " of " + Quoted(token) + " is that of " +
                 Quoted(out_.tokens[place]) + " too; expected ids that differ");
    taken_[place] = true;
    out_.tokens[place] = token;
    return id;
  }

  void ReadAdded(const JsonValue& added) {
    for (std::size_t i = 0; i < added.node().elements.size(); ++i) {
      const JsonValue token = added.Element(i), content = token.Require("content");
      const auto flag = [&](std::string_view key) {
        const auto value = token.Find(key);
        return value && value->Flag();
      };
      if (content.Text().empty() || content.Text().size() > kLongestAdded)
        content.Fail("expected a text of 1 to " + std::to_string(kLongestAdded) + " bytes");
      if (!added_.insert(content.Text()).second) content.Fail("stands twice; remove one");
      const std::int32_t id = AddedId(token.Require("id"), content.Text());
      CompareId(content.Text(), id);
      out_.added.push_back({.content = content.Text(),
                            .id = id,
                            .single_word = flag("single_word"),
                            .lstrip = flag("lstrip"),
                            .rstrip = flag("rstrip"),
                            .special = flag("special"),
                            .normalized = flag("normalized")});
    }
  }

  // That package reads no ids of tokens that model.vocab has not, but counts on in the order of the list.
  void CompareId(const std::string& content, std::int32_t id) {
    const auto size = static_cast<std::int32_t>(ids_.size());
    const std::int32_t counted = ids_.contains(content) ? id : std::max(size, last_counted_ + 1);
    last_counted_ = std::max(last_counted_, counted);
    if (id == counted || !out_.other_id.empty()) return;
    out_.other_id = "the added token " + Quoted(content) + " has the id " + std::to_string(id) +
                    " in the file and " + std::to_string(counted) + " in Hugging Face's tokenizers";
  }

  std::int32_t AddedId(const JsonValue& id, const std::string& content) {
    const auto known = ids_.find(content);
    if (known == ids_.end()) return Take(id, content);
    if (IdOf(id) != known->second)
      id.Fail("the id of " + Quoted(content) + " is " + std::to_string(known->second) +
              " in model.vocab; expected the same here");
    return known->second;
  }

  // Added tokens that the vocabulary has too left places at the end.
  void CheckIds() {
    std::size_t count = 0;
    for (const bool taken : taken_) count += taken ? 1 : 0;
    for (std::size_t id = 0; id < count; ++id) {
      if (!taken_[id])
        model_.Require("vocab").Fail("no token has the id " + std::to_string(id) + ", and there are " +
                                     std::to_string(count) + "; expected ids from 0 on, without a hole");
    }
    out_.tokens.resize(count);
    out_.in_model.resize(count);
  }

  void ReadMerges(const JsonValue& merges) {
    out_.merges.reserve(merges.node().elements.size());
    std::string made;
    for (std::size_t i = 0; i < merges.node().elements.size(); ++i) {
      const auto [left, right] = PairOf(merges, i);
      made.assign(left).append(right);
      out_.merges.push_back({TokenOf(merges, i, left), TokenOf(merges, i, right), TokenOf(merges, i, made)});
    }
  }

  // "a b", or ["a", "b"].
  static std::pair<std::string_view, std::string_view> PairOf(const JsonValue& merges, std::size_t index) {
    const JsonNode& node = merges.node().elements[index];
    if (node.IsString()) {
      const std::string_view text = node.scalar.get_ref<const std::string&>();
      const std::size_t space = text.find(' ');
      if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos)
        return {text.substr(0, space), text.substr(space + 1)};
    } else if (node.elements.size() == 2) {
      return {merges.Element(index).Element(0).Text(), merges.Element(index).Element(1).Text()};
    }
    merges.Element(index).Fail("expected two tokens, \"a b\" or [\"a\", \"b\"], found " + Describe(node));
  }

  std::int32_t TokenOf(const JsonValue& merges, std::size_t index, std::string_view token) const {
    if (const auto found = ids_.find(token); found != ids_.end()) return found->second;
    merges.Element(index).Fail(
        "the merge needs the token " + Quoted(token) +
        ", which model.vocab has not; a line is missing or damaged: fetch the file again");
  }

  void ReadUnknown() {
    const auto unknown = model_.Find("unk_token");
    if (!unknown) return;
    const auto found = ids_.find(unknown->Text());
    if (found == ids_.end()) unknown->Fail(Quoted(unknown->Text()) + " is no token of model.vocab");
    out_.unknown = found->second;
  }

  JsonValue root_, model_;
  TokenizerJson& out_;
  std::vector<bool> taken_;  // by id
  Ids ids_;                  // of model.vocab
  std::int32_t last_counted_ = -1;
  std::unordered_set<std::string_view> added_;
};

}  // namespace

TokenizerJson ReadTokenizerJson(std::string_view text, const std::string& file) {
  const JsonDocument document = ParseJson(text, kTokenizerLimits);
  if (!document.problems.empty()) {
    const JsonProblem& problem = document.problems.front();
    throw InputError(file + ":" + std::to_string(problem.at.line) + ":" + std::to_string(problem.at.column) +
                     ": " + (problem.path.empty() ? "" : problem.path + ": ") + problem.message);
  }
  const JsonValue root(file, document.root);
  if (const auto version = root.Find("version"); version && version->Text() != "1.0")
    version->Fail("expected \"1.0\", found " + Describe(version->node()));
  TokenizerJson tokenizer;
  Reader(root, tokenizer).Read();
  ReadTokenizerSteps(root, tokenizer);
  return tokenizer;
}

bool IsTokenizerJson(std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && bytes[first] == '{';
}

}  // namespace medley
