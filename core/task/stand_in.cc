#include <medley/task/stand_in.h>

#include <medley/model/model_info.h>

namespace medley {
namespace {

// Whatever a text's length in the vocabulary to come, it fits.
class OneTokenATokenizer final : public Tokenizer {
 public:
  std::vector<std::int64_t> Encode(std::string_view) const override { return {kText}; }
  std::string Decode(const std::vector<std::int64_t>&) const override { return ""; }
  std::string Piece(std::int64_t) const override { return ""; }
  std::int64_t Id(std::string_view) const override { return kSpecial; }
  bool Has(std::string_view) const override { return true; }
  std::int64_t size() const override { return kSpecial + 1; }
  std::string hash() const override { return "stand-in"; }

 private:
  static constexpr std::int64_t kText = 0, kSpecial = 1;
};

constexpr ImageGeometry kPictures{.size = 128, .patch = 16};

const Tokenizer& AnyTokenizer() {
  static const OneTokenATokenizer tokenizer;
  return tokenizer;
}

}  // namespace

StandIn::StandIn(const TextsContext& texts)
    : model_(ModelInfo{}),
      control_text_(texts.control_text.empty() ? std::vector<std::string>{"-"} : texts.control_text),
      context_(
          {.model = model_, .tokenizer = &AnyTokenizer(), .image = kPictures, .control_text = &control_text_},
          "default", texts.options) {}

}  // namespace medley
