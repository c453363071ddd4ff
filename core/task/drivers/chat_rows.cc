#include <medley/task/drivers/chat_rows.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/model/model_config.h>
#include <medley/task/text_rows.h>

namespace medley {

namespace {

constexpr std::string_view kImageToken = "tower.image_token";

// What the option names, for a model: one whose pictures do not stand among words has them beside the text.
ChatStrings StringsOf(const TaskContext& context) {
  ChatStrings strings = context.Chat(kChatOption);
  const bool among_words = context.model().Has(kImageToken) && context.model().Integer(kImageToken) > 0;
  if (!among_words || !context.options.contains("images") || context.Option("images") == 0)
    strings.image.clear();
  return strings;
}

// Each picture is one token of the model's.
void CheckImage(const ChatStrings& strings, const ModelConfig& model, const Tokenizer& tokenizer) {
  if (strings.image.empty()) return;
  const std::int64_t token = model.Integer(kImageToken);
  const std::vector<std::int64_t> ids = tokenizer.Encode(strings.image);
  if (std::ranges::count(ids, token) == 1) return;
  throw InputError("the chat format '" + strings.name + "' writes '" + Printable(strings.image) +
                   "' for a picture, which has the model's token for one, " + std::to_string(token) + ", " +
                   std::to_string(std::ranges::count(ids, token)) +
                   " times; expected once. Name the format of the model's own folder (tools/chat-format) "
                   "and its tokenizer.json");
}

}  // namespace

ChatRows::ChatRows(const TaskContext& context)
    : tokenizer_(context.tokenizer()),
      format_(StringsOf(context), tokenizer_),
      width_(static_cast<std::int64_t>(context.Option("text_width"))),
      cuts_(context.Word("too_long") == "cut") {
  if (context.options.contains("images")) pictures_ = static_cast<std::size_t>(context.Option("images"));
  if (pictures_ > 0) context.image();  // a model that sees none is refused
  CheckImage(format_.strings(), context.model(), tokenizer_);
}

void ChatRows::Check(const Conversation& conversation) const {
  if (const auto problem = format_.ProblemOf(conversation))
    throw InputError("turn " + std::to_string(problem->turn + 1) + ": " + problem->what);
  if (std::ranges::none_of(conversation, &Turn::learned))
    throw InputError("nothing of it is learned; expected an assistant's turn that is");
  const std::size_t shown = PicturesIn(conversation);
  if (shown == pictures_) return;
  throw InputError("it shows " + std::to_string(shown) + (shown == 1 ? " picture" : " pictures") +
                   ", and the option images is " + std::to_string(pictures_) +
                   ": all rows of a task show equally many, " + std::to_string(kChatPictures.size()) +
                   " at most. Set images, or put conversations with other numbers into files of tasks of "
                   "their own");
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
  bool shows = false;  // a turn in front of that one
  for (std::size_t i = first + 1; i + 1 < conversation.size(); ++i) {
    const bool is_learned = std::any_of(conversation.begin() + static_cast<std::ptrdiff_t>(i),
                                        conversation.end(), [](const Turn& turn) { return turn.learned; });
    shows = shows || !conversation[i - 1].pictures.empty();
    if (conversation[i].role == "user" && is_learned && !shows) begins.push_back(i - first);
  }
  const auto enough =
      std::ranges::partition_point(begins, [&](std::size_t oldest) { return tokens(oldest) > width_; });
  if (enough != begins.end()) return *enough;
  throw InputError(how_many + ", and " +
                   (begins.empty()
                        ? shows ? "the turns to leave out show pictures" : "there is no turn to leave out"
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

void ChatRows::CheckShown(std::size_t pictures) const {
  if (pictures == 0) return;
  const std::string how_many =
      "it shows " + std::to_string(pictures) + (pictures == 1 ? " picture" : " pictures");
  if (pictures_ == 0) throw InputError(how_many + ", and the task is trained on words alone; leave them out");
  if (pictures > kChatPictures.size())
    throw InputError(how_many + "; a conversation has " + std::to_string(kChatPictures.size()) + " at most");
}

Asked ChatRows::Ask(std::vector<Conversation> conversations, const Questions& questions) const {
  std::vector<std::vector<std::int64_t>> prompts;
  std::vector<std::int64_t> lengths;
  Asked asked{.inputs = {}, .ends = {format_.end()}};
  for (std::size_t i = 0; i < conversations.size(); ++i) {
    const std::size_t pictures = PicturesIn(conversations[i]);
    if (pictures != PicturesIn(conversations[0]))
      throw Error("questions that are asked together show " + std::to_string(PicturesIn(conversations[0])) +
                  " and " + std::to_string(pictures) + " pictures; expected equally many");
    try {
      CheckShown(pictures);
      prompts.push_back(PromptOf(conversations[i]));
    } catch (const InputError& error) {
      questions.lines[i].Fail(error.what());
    }
    lengths.push_back(std::ssize(prompts.back()));
    asked.room.push_back(width_ - lengths.back());
  }
  const std::int64_t longest = *std::ranges::max_element(lengths);
  asked.inputs = {{"tokens", PadRows(prompts, longest, tokenizer_.pad()), ""},
                  {"lengths", IntColumn(lengths), ""}};
  return asked;
}

std::vector<std::int64_t> ChatRows::PromptOf(const Conversation& conversation) const {
  const std::size_t first = !conversation.empty() && conversation.front().role == "system" ? 1 : 0;
  std::vector<std::int64_t> prompt = format_.Prompt(conversation);
  const std::int64_t all = std::ssize(prompt);
  std::size_t oldest = 0;
  while (cuts_ && std::ssize(prompt) >= width_ && first + oldest + 1 < conversation.size() &&
         conversation[first + oldest].pictures.empty()) {
    ++oldest;
    if (conversation[first + oldest].role == "user") prompt = format_.Prompt(Without(conversation, oldest));
  }
  if (std::ssize(prompt) < width_) return prompt;
  const bool is_last = first + oldest + 1 == conversation.size();
  throw InputError("a prompt of " + std::to_string(all) + " tokens, text_width is " + std::to_string(width_) +
                   (!cuts_    ? " with the reply"
                    : is_last ? ", and its last turn alone leaves no room for a reply"
                              : ", and turns that show pictures are not left out") +
                   ". Shorten it, or train with a larger text_width");
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

std::size_t PicturesIn(const Conversation& conversation) {
  std::size_t pictures = 0;
  for (const Turn& turn : conversation) pictures += turn.pictures.size();
  return pictures;
}

Conversation AskedMessages(const JsonItem& line) {
  for (const char* key : {"images", "image"}) {
    if (line.Has(key)) line.Fail(key, "nothing is shown with the questions of this task; leave it out");
  }
  Conversation conversation;
  for (const JsonItem& message : line.Objects("messages"))
    conversation.push_back(
        {.role = message.Word("role", {"system", "user", "assistant"}), .text = message.Text("content")});
  if (!conversation.empty() && conversation.back().role == "assistant") conversation.pop_back();
  if (conversation.empty() || conversation.back().role != "user")
    line.Fail("messages", "expected a user's turn at the end, or an answer to one");
  return conversation;
}

at::Tensor LearnedItems(const std::vector<ChatTokens>& rows) {
  std::vector<std::int64_t> items;
  for (const ChatTokens& row : rows) items.push_back(std::ssize(row.learned));
  return IntColumn(items);
}

}  // namespace medley
