/* Linked into the program in builds with sanitizers only: libraries that are closed stay loaded, so that
 * LeakSanitizer, which looks when the process ends, can still tell whose memory it was. Open MPI closes its
 * components before that. */
__attribute__((visibility("default"))) int dlclose(void *library);

int dlclose(void *library)
{
    (void)library;
    return 0;
}
