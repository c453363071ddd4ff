#include <medley/task/plugin_entry.h>

// See plugin_entry.h. Its name is its meaning.
extern "C" [[gnu::visibility("default")]] const char MEDLEY_LINK_CANARY = 1;
