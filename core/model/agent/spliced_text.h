#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace medley {

// The words of a text and the vectors of its pictures as one sequence, as LLaVA has them: a picture's vectors
// stand where its token was. Pictures of a row without such tokens stand in front of it, each between a label
// and closing words. Nothing here looks at values on the host, so that nothing waits for a device.
struct SplicedText {
  at::Tensor ids;                    // [rows, length]; where pictures stand, and behind a row's end, any
  std::vector<at::Tensor> pictures;  // of each, [rows * patches]: row * length + position of its vectors
  at::Tensor last;                   // [rows, width]: the position at which each token ends

  std::int64_t length() const { return ids.size(1); }
  // [rows * width], row * length + position
  at::Tensor Ends() const;
};

// What stands around pictures, and for them.
struct PictureWords {
  std::vector<at::Tensor> labels;  // ids in front of picture i
  at::Tensor closing;              // ids behind each
  std::int64_t patches = 0;        // vectors of a picture
  std::int64_t token = 0;          // the id that stands for a picture; 0: none does
  std::int64_t pad = 0;

  // Positions of so many pictures in front of a text: the most that they add to one.
  std::int64_t Front(std::int64_t pictures) const;
};

// tokens [rows, width] int64, with `pictures` in each row. A row has no token for a picture, or one for each:
// that is for others to check (AgentInputs); of any other row something comes out.
SplicedText Splice(const at::Tensor& tokens, const PictureWords& words, std::int64_t pictures);

}  // namespace medley
