#include <medley/data/item_hash.h>

#include <xxhash.h>

namespace medley {

std::uint64_t HashItem(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace medley
