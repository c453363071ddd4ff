// expect: medley: _GLIBCXX_DEBUG makes other containers
#define _GLIBCXX_DEBUG
#include <medley/task/plugin.h>
