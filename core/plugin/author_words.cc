#include <medley/plugin/author_words.h>

#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace medley {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Longer ones first, where one has another in it.
constexpr std::array kPhrases = {
    Pair{"for row i from RowRandom(CombineSeeds(context.Seed(\"action\"), context.batch().rows().begin + i))",
         "from medley.site(context, \"action\")"},
    Pair{
        "draw row i's random numbers from CombineSeeds(context.Seed(site), context.batch().rows().begin + i)",
        "draw random numbers from medley.site(context, name)"},
    Pair{"rows.Random(row)", "rows.uniform, rows.below or rows.generator(i)"},
    Pair{"at::Reduction::Sum, sum() for mean()", "reduction=\"sum\", sum() for mean()"},
    Pair{"detach(), data(), item(), a NoGradGuard, a copy",
         "detach(), .data, .item(), .numpy(), torch.no_grad()"},
    Pair{"; add SetItems(\"", "; return a key \""},
    Pair{"(SetItems, AddLearned)", "(a key with the term's name)"},
    Pair{"(SetItems)", "(a key with the term's name)"},
    Pair{"(CountEach)", "(no key with the term's name)"},
    Pair{"Carry and Carried", "context.carry and context.carried"},
    Pair{".counts_otherwise = true", "\"counts_otherwise\": True"},
    Pair{".stops_gradient = true", "\"stops_gradient\": True"},
    Pair{"name it in .keeps", "name it in \"keeps\""},
    Pair{"RowRange::longest", "rows.longest"},
    Pair{"a static variable", "a global"},
    Pair{"std::rand", "random or numpy.random"},
};
constexpr std::array kMethods = {Pair{"Sample", "sample"}, Pair{"Run", "run"}, Pair{"Evaluate", "evaluate"},
                                 Pair{"Constant", "constant"}};

bool IsOfWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; }

void Replace(std::string& words, const Pair& pair, bool whole) {
  const auto [from, to] = pair;
  for (std::size_t at = words.find(from); at != std::string::npos; at = words.find(from, at)) {
    const std::size_t end = at + from.size();
    const bool is_part = (at > 0 && IsOfWord(words[at - 1])) || (end < words.size() && IsOfWord(words[end]));
    if (whole && is_part) {
      at = end;
      continue;
    }
    words.replace(at, from.size(), to);
    at += to.size();
  }
}

}  // namespace

std::string InAuthorsWords(std::string words, bool in_python) {
  if (!in_python) return words;
  for (const Pair& phrase : kPhrases) Replace(words, phrase, false);
  for (const Pair& method : kMethods) Replace(words, method, true);
  return words;
}

}  // namespace medley
