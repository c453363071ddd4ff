#include <medley/task/drivers/chat_rows.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <medley/base/error.h>
#include <medley/task/text_rows.h>

namespace medley {

ChatRows::ChatRows(const TaskContext& context)
    : tokenizer_(context.tokenizer()),
      format_(context.Chat("chat"), tokenizer_),
      width_(static_cast<std::int64_t>(context.Option("text_width"))),
      cuts_(context.Word("too_long") == "cut") {}

void ChatRows::Check(const Conversation& conversation) const {
  if (const auto problem = format_.ProblemOf(conversation))
    throw InputError("turn " + std::to_string(problem->turn + 1) + ": " + problem->what);
  if (std::ranges::none_of(conversation, &Turn::learned))
    throw InputError("nothing of it is learned; expected an assistant's turn that is");
}

Conversation ChatRows::Without(Conversation conversation, std::size_t oldest) {
  const bool has_system = !conversation.empty() && conversation.front().role == "system";
  const auto begin = conversation.begin() + (has_system ? 1 : 0);
  conversation.erase(begin, begin + static_cast<std::ptrdiff_t>(oldest));
  return conversation;
}

std::size_t ChatRows::TooMany(const Conversation& conversation) const {
  const auto tokens = [&](std::size_t oldest) {
    return std::ssize(format_.Encode(Without(conversation, oldest)).ids);
  };
  const std::int64_t all = tokens(0);
  if (all <= width_) return 0;
  const std::string how_many = std::to_string(all) + " tokens, text_width is " + std::to_string(width_);
  if (!cuts_)
    throw InputError(how_many +
                     ". Shorten it, raise text_width, or set too_long to cut, which leaves out the "
                     "oldest turns");
  // It may begin with each user's turn behind which something is still learned.
  const std::size_t first = conversation.front().role == "system" ? 1 : 0;
  std::vector<std::size_t> begins;
  for (std::size_t i = first + 1; i + 1 < conversation.size(); ++i) {
    const bool is_learned = std::any_of(conversation.begin() + static_cast<std::ptrdiff_t>(i),
                                        conversation.end(), [](const Turn& turn) { return turn.learned; });
    if (conversation[i].role == "user" && is_learned) begins.push_back(i - first);
  }
  const auto enough =
      std::ranges::partition_point(begins, [&](std::size_t oldest) { return tokens(oldest) > width_; });
  if (enough != begins.end()) return *enough;
  throw InputError(how_many + ", and " +
                   (begins.empty() ? "there is no turn to leave out"
                                   : "its last turns alone have " + std::to_string(tokens(begins.back()))) +
                   ". Shorten it, or raise text_width");
}

ChatTokens ChatRows::Tokens(const Conversation& conversation, bool longest) const {
  Check(conversation);
  ChatTokens tokens = format_.Encode(conversation);
  if (std::ssize(tokens.ids) > width_) tokens = format_.Encode(Without(conversation, TooMany(conversation)));
  if (longest) Lengthen(tokens);
  return tokens;
}

void ChatRows::Lengthen(ChatTokens& tokens) const {
  const std::int64_t last = tokens.ids.back();
  tokens.ids.resize(static_cast<std::size_t>(width_), last);
  tokens.learned.resize(static_cast<std::size_t>(width_) - 1);
  std::iota(tokens.learned.begin(), tokens.learned.end(), std::int64_t{1});
}

void ChatRows::AddTo(Batch& batch, const std::string& prefix, const std::vector<ChatTokens>& rows) const {
  std::vector<std::vector<std::int64_t>> ids, learned;
  std::vector<std::int64_t> lengths;
  for (const ChatTokens& row : rows) {
    ids.push_back(row.ids);
    learned.push_back(row.learned);
    lengths.push_back(std::ssize(row.ids));
  }
  batch.AddPadded(prefix + "tokens", ids, width_, tokenizer_.pad());
  batch.Add(prefix + "lengths", IntColumn(lengths));
  batch.AddRagged(prefix + "learned", learned);
}

ModelInputs ChatRows::Inputs(const Batch& batch, const std::string& prefix) {
  const at::Tensor& tokens = batch.Column(prefix + "tokens");
  return {{"tokens", tokens, ""},
          {"lengths", batch.Column(prefix + "lengths"), ""},
          {"supervised", FlatPositions(batch.Ragged(prefix + "learned"), tokens.size(1)), ""}};
}

at::Tensor LearnedItems(const std::vector<ChatTokens>& rows) {
  std::vector<std::int64_t> items;
  for (const ChatTokens& row : rows) items.push_back(std::ssize(row.learned));
  return IntColumn(items);
}

}  // namespace medley
