#include "tools/command/cache_verbs.h"

#include "tools/opening/verbs.h"

namespace pc::cli {
namespace {

void add_signing_key(CLI::App* verb, Options* o, const std::string& name) {
  add(verb, name, o->signing_key, "FILE", "the private key that signs (Ed25519, PEM)")
      ->check(not_empty());
}

// Of cache push and cache pull.
void add_exchange(CLI::App* verb, Options* o) {
  verb->add_option("store key...", o->keys,
                   "the other store, a folder or an address; behind it, keys or their beginnings")
      ->required();
  CLI::Option* const schema = add_schema(verb, o, "the modules of this schema; with --model");
  add(verb, "-p,--prompt", o->prompts, "FILE", "those that this prompt imports, as it has them")
      ->needs(schema);
  add_model(verb, o);
  schema->needs(verb->get_option("--model")->required(false));
  add_cache_dir(verb, o);
  add_output(verb, o);
}

void add_exchange_verbs(CLI::App* cache, Options* o) {
  CLI::App* verb =
      add_verb(cache, "push", o, &cache_push, "copy modules to another store",
               "  promptcache cache push /srv/modules --all\n"
               "  promptcache cache push /srv/modules -m models/city-guide -s guide.pml\n"
               "  promptcache cache push https://host/modules --used-days 7 --sign-key key.pem\n\n"
               "What is there already is not copied again. An address is any web server that\n"
               "takes files by PUT; the program curl sends them. --sign-key lists and signs what\n"
               "the other store then has, as cache sign does.");
  add_exchange(verb, o);
  verb->add_flag("--all", o->all, "every module of the store");
  add(verb, "--used-days", o->used_days, "N", "modules that were used in the last N days")
      ->check(at_least_one());
  add_signing_key(verb, o, "--sign-key");
  verb = add_verb(cache, "pull", o, &cache_pull, "copy modules from another store",
                  "  promptcache cache pull /srv/modules --all\n"
                  "  promptcache cache pull https://host/modules --all --cache-trust key.pub\n\n"
                  "Each comes whole or not at all: a pull that was ended goes on where it was. Of\n"
                  "an address, cache sign has to have written the list.");
  add_exchange(verb, o);
  verb->add_flag("--all", o->all, "every module of the other store");
  add_trust(verb, o, "whose signature is asked for, whoever owns the other store");
  verb = add_verb(cache, "sign", o, &cache_sign, "list the store's modules, and sign the list",
                  "  openssl genpkey -algorithm ed25519 -out key.pem\n"
                  "  openssl pkey -in key.pem -pubout -out key.pub\n"
                  "  promptcache cache sign --key key.pem --cache-dir /srv/modules\n\n"
                  "The list is v3/manifest in the store. Who has key.pub can use the store with\n"
                  "--cache-from and --cache-trust, whoever may write to it.");
  add_signing_key(verb, o, "--key");
  add_cache_dir(verb, o);
  add_output(verb, o);
}

}  // namespace

void add_cache_verbs(CLI::App* app, Options* o) {
  CLI::App* const cache = add_group(app, "cache", "look at the store and tidy it");
  CLI::App* verb =
      add_verb(cache, "ls", o, &cache_list, "list the files of modules and of packed weights",
               "  promptcache cache ls");
  add_cache_dir(verb, o);
  add_output(verb, o);
  verb = add_verb(cache, "show", o, &cache_show, "print the header of a module's file",
                  "  promptcache cache show 3f2a");
  verb->add_option("key", o->keys, "the file's key or its beginning")->required()->expected(1);
  add_cache_dir(verb, o);
  add_output(verb, o);
  verb = add_verb(cache, "verify", o, &cache_verify, "check every byte of one file or of all",
                  "  promptcache cache verify\n\nEnds with 4 when a file is damaged.");
  verb->add_option("key", o->keys, "the file's key or its beginning; default: all files")
      ->expected(0, 1);
  add_cache_dir(verb, o);
  add_output(verb, o);
  verb =
      add_verb(cache, "rm", o, &cache_remove, "remove files", "  promptcache cache rm 3f2a 77b0");
  verb->add_option("key", o->keys, "the files' keys or their beginnings");
  verb->add_flag("--all", o->all, "remove every file, packed weights too");
  add_cache_dir(verb, o);
  add_output(verb, o);
  for (const bool pins : {true, false}) {
    verb = pins ? add_verb(cache, "pin", o, &cache_pin, "keep modules from being evicted",
                           "  promptcache cache pin 3f2a\n\n"
                           "Until they are unpinned or removed, by whichever process.")
                : add_verb(cache, "unpin", o, &cache_unpin, "let pinned modules be evicted again",
                           "  promptcache cache unpin 3f2a");
    verb->add_option("key", o->keys, "the modules' keys or their beginnings")->required();
    add_cache_dir(verb, o);
    add_output(verb, o);
  }
  verb = add_verb(cache, "export", o, &cache_export, "write modules to one file of another name",
                  "  promptcache cache export 3f2a 77b0 guide.modules\n"
                  "  promptcache cache export --all everything.modules");
  verb->add_option("key... file", o->keys,
                   "the modules' keys or their beginnings; last, a new file")
      ->required();
  verb->add_flag("--all", o->all, "every module of the store");
  add_cache_dir(verb, o);
  add_output(verb, o);
  verb = add_verb(cache, "import", o, &cache_import, "put exported modules into the store",
                  "  promptcache cache import guide.modules\n\n"
                  "Prints their keys. Whoever made the files is trusted: their sums find damage,\n"
                  "not forgery.");
  verb->add_option("file", o->files, "what cache export wrote")->required()->type_name("FILE");
  add_cache_dir(verb, o);
  add_output(verb, o);
  add_exchange_verbs(cache, o);
  verb = add_verb(cache, "gc", o, &cache_collect, "remove the files used longest ago",
                  "  promptcache cache gc --cache-size 2GiB\n\n"
                  "Packed weights do not count for the size; they go after 30 days without use.");
  add_size(verb, "--cache-size", o->cache_bytes,
           "remove modules until at most this is left; default: 8GiB");
  add_cache_dir(verb, o);
  add_output(verb, o);
}

}  // namespace pc::cli
