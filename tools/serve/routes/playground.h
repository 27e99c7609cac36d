// The page in tools/serve/playground/, as responses: a client of this server's routes, for people.
//
// It is served with a policy that lets it load and call what is on this server, and nothing else;
// no script or style of it stands in its markup. Pure. Threads: any.
#pragma once

#include "tools/serve/http/embedded_file.h"
#include "tools/serve/http/http.h"

namespace pc::serve {

// The route to it: of the page itself "/", of what it loads "/playground/NAME". Lives as the file.
const char* playground_path(const EmbeddedFile& file);

HttpResponse playground_response(const EmbeddedFile& file);

}  // namespace pc::serve
