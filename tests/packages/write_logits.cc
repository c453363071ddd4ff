// Writes what medley computes of a Hugging Face folder's language, for open_export.py: tokens, lengths and
// logits, and the ids of a text.
//   medley_write_logits FOLDER TEXT OUT
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include <medley/base/files.h>
#include <medley/base/random.h>
#include <medley/text/load_tokenizer.h>
#include <medley/weights/safetensors.h>

#include "tests/weights/published_language.h"

namespace medley {
namespace {

constexpr std::int64_t kRows = 3, kWidth = 12;

// Rows of other lengths, of all ids that a token has.
std::vector<Parameter> Logits(const std::filesystem::path& folder, std::int64_t ids) {
  const at::NoGradGuard no_grad;
  const test::Published published(folder, kWidth);
  RowRandom random(HashName("tokens"));
  at::Tensor tokens = at::zeros({kRows, kWidth}, at::kLong), lengths = at::empty({kRows}, at::kLong);
  for (std::int64_t row = 0; row < kRows; ++row) {
    lengths[row] = kWidth - 4 * row;
    for (std::int64_t i = 0; i < kWidth - 4 * row; ++i) tokens[row][i] = random.Below(ids);
  }
  return {{"tokens", tokens}, {"lengths", lengths}, {"logits", published.LogitsOf(tokens)}};
}

void Write(const std::filesystem::path& folder, const std::string& text, const std::filesystem::path& out) {
  const auto tokenizer = LoadTokenizer(folder / "tokenizer.json");
  std::vector<Parameter> tensors = Logits(folder, tokenizer->size());
  tensors.push_back({"text", at::tensor(std::vector<std::uint8_t>(text.begin(), text.end()), at::kByte)});
  tensors.push_back({"text_ids", at::tensor(tokenizer->Encode(text), at::kLong)});
  std::ofstream file(out, std::ios::binary);
  WriteSafetensors(tensors, {{"format", "pt"}}, [&](const void* bytes, std::size_t count) {
    file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  });
  if (!file.flush()) throw std::runtime_error(out.string() + " cannot be written");
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) try {
  if (argc != 4) return std::fprintf(stderr, "usage: medley_write_logits FOLDER TEXT OUT\n"), 2;
  medley::Write(argv[1], medley::ReadFile(argv[2]), argv[3]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "medley_write_logits: %s\n", error.what());
  return 1;
}
