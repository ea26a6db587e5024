#include "page.h"

#include "firn/png.h"

#include <math.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--page:#f9f9f7;--card:#fff;--ink:#111;--soft:#52514e;"
    "--faint:#898781;--grid:#e4e3df;--axis:#b9b8b3;--wait:#f0efec;--good:#0a7a0a;--warn:#8a5a00;"
    "--s0:#2a78d6;--s1:#d4551f;--s2:#12875d;--s3:#6a4fc4}"
    "@media(prefers-color-scheme:dark){:root{--page:#0d0d0d;--card:#1a1a19;--ink:#f5f5f3;"
    "--soft:#c3c2b7;--faint:#8f8d86;--grid:#2e2e2b;--axis:#4a4945;--wait:#242422;"
    "--good:#4cc24c;--warn:#f0b429;--s0:#5a9df0;--s1:#ef7a49;--s2:#2fbf8a;--s3:#a79cf2}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;padding:24px 20px 60px;max-width:1180px;background:var(--page);"
    "color:var(--ink);font:15px/1.45 system-ui,-apple-system,'Segoe UI',sans-serif}"
    "h1{font-size:26px;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}"
    "h2{font-size:19px;margin:36px 0 12px;overflow-wrap:anywhere}"
    "p{margin:4px 0 10px;color:var(--soft);overflow-wrap:anywhere}a{color:var(--s0)}"
    ".state{display:inline-block;padding:1px 10px;border-radius:10px;border:1px solid currentColor;"
    "margin-right:8px;font-size:13px;font-weight:600}.good{color:var(--good)}.warn{color:var(--"
    "warn)}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:12px;"
    "margin:18px 0}.tiles div,figure{background:var(--card);border:1px solid var(--grid);"
    "border-radius:8px}.tiles div{padding:10px 14px}.tiles b{display:block;font-size:21px;"
    "font-weight:600}.tiles span{color:var(--soft);font-size:13px}"
    ".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,430px),1fr));"
    "gap:14px}figure{margin:0;padding:12px 14px 8px;position:relative}"
    "figcaption b{display:block;font-size:15px}figcaption span{color:var(--soft);font-size:13px}"
    ".key{display:flex;flex-wrap:wrap;gap:4px 16px;margin-top:4px}.key span{display:flex;"
    "align-items:center;gap:6px}.key i{width:14px;height:3px;border-radius:2px}"
    "svg{display:block;width:100%;height:auto;margin-top:6px}"
    "svg text{fill:var(--soft);font-size:11px;font-variant-numeric:tabular-nums}"
    ".grid{stroke:var(--grid)}.axis{stroke:var(--axis)}.wait{fill:var(--wait)}"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".cross{stroke:var(--faint);visibility:hidden}"
    ".tip{position:absolute;pointer-events:none;visibility:hidden;background:var(--card);"
    "border:1px solid var(--axis);border-radius:6px;padding:4px 8px;font-size:12px;"
    "white-space:pre;font-variant-numeric:tabular-nums;box-shadow:0 2px 8px #0003}"
    ".shots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,250px),1fr));"
    "gap:14px}.shots figure{padding:0;overflow:hidden}img{display:block;width:100%;height:auto}"
    ".shots figcaption{padding:5px 10px;font-size:13px;color:var(--soft)}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;"
    "font-variant-numeric:tabular-nums}th,td{text-align:left;padding:4px 12px 4px 0;"
    "border-bottom:1px solid "
    "var(--grid);vertical-align:top;max-width:520px;overflow-wrap:break-word}"
    "th{color:var(--soft);font-weight:600;white-space:nowrap}td.n,th.n{text-align:right;white-"
    "space:nowrap}"
    "td.help{color:var(--soft);min-width:220px}td img{width:160px;border-radius:4px}"
    "details{margin:6px 0}summary{cursor:pointer;color:var(--soft)}"
    "summary b{color:var(--ink)}section{margin-top:28px}"
    "footer{margin-top:40px;color:var(--faint);font-size:13px;overflow-wrap:anywhere}";

// Hovering shows the numbers of a frame; the page is complete without it.
static const char script[] =
    "for(const box of document.querySelectorAll('.plots')){"
    "const all=[...box.querySelectorAll('figure')].map(f=>({f,svg:f.querySelector('svg'),"
    "tip:f.querySelector('.tip'),cross:f.querySelector('.cross'),"
    "d:JSON.parse(f.dataset.values)}));"
    "const hide=()=>all.forEach(p=>{p.tip.style.visibility=p.cross.style.visibility='hidden'});"
    "const show=e=>{const here=all.find(p=>p.svg.contains(e.target));if(!here)return hide();"
    "const r=here.svg.getBoundingClientRect(),d=here.d,"
    "u=(e.clientX-r.left)/r.width*d.width,w=d.right-d.left,"
    "at=d.first+(u-d.left)/w*(d.last-d.first);let k=0;"
    "d.frames.forEach((x,i)=>{if(Math.abs(x-at)<Math.abs(d.frames[k]-at))k=i});"
    "const x=d.left+w*(d.last>d.first?(d.frames[k]-d.first)/(d.last-d.first):0.5);"
    "for(const p of all){p.cross.setAttribute('x1',x);p.cross.setAttribute('x2',x);"
    "p.cross.style.visibility='visible';p.tip.style.visibility='hidden'}"
    "here.tip.textContent='frame '+d.frames[k]+d.series.map(s=>'\\n'+s.label+'  '+"
    "(s.values[k]===null?'\\u2013':s.values[k]+(d.unit?' '+d.unit:''))).join('');"
    "const px=x/d.width*r.width+here.svg.offsetLeft;here.tip.style.visibility='visible';"
    "here.tip.style.top=here.svg.offsetTop+8+'px';"
    "here.tip.style.left=(px+12+here.tip.offsetWidth>here.f.clientWidth?"
    "px-12-here.tip.offsetWidth:px+12)+'px'};"
    "box.addEventListener('pointermove',show);box.addEventListener('pointerleave',hide)}";

void firn_page_text(FILE *page, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (strchr("<>&\"'", c) != NULL)
            fprintf(page, "&#%d;", c);
        else if (c >= 0x20 || c == '\n' || c == '\t')
            fputc(c, page);
    }
}

void firn_page_begin(FILE *page, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          page);
    firn_page_text(page, title);
    fprintf(page, "</title>\n<style>%s</style>\n</head>\n<body>\n", style);
}

void firn_page_end(FILE *page) { fprintf(page, "<script>%s</script>\n</body>\n</html>\n", script); }

// --- Numbers -------------------------------------------------------------------------------------

const char *firn_page_time(double seconds, char text[32])
{
    if (seconds < 120.0)
        snprintf(text, 32, seconds < 10.0 ? "%.2f s" : "%.1f s", seconds);
    else if (seconds < 7200.0)
        snprintf(text, 32, "%.0f min %02.0f s", floor(seconds / 60.0), fmod(seconds, 60.0));
    else
        snprintf(text, 32, "%.0f h %02.0f min", floor(seconds / 3600.0),
                 fmod(seconds, 3600.0) / 60.0);
    return text;
}

static const char *scaled(double value, double base, const char *const *units, char text[32])
{
    int unit = 0;
    for (; fabs(value) >= base && units[unit + 1] != NULL; unit++)
        value /= 1000.0;
    snprintf(text, 32, unit == 0 ? "%.0f%s" : "%.3g%s", value, units[unit]);
    return text;
}

const char *firn_page_bytes(double bytes, char text[32])
{
    static const char *const units[] = {" B", " kB", " MB", " GB", " TB", NULL};
    return scaled(bytes, 1000.0, units, text);
}

const char *firn_page_count(double count, char text[32])
{
    static const char *const units[] = {"", " k", " M", " G", NULL};
    return scaled(count, 10000.0, units, text);
}

// --- Pictures ------------------------------------------------------------------------------------

static void print_base64(FILE *page, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        char four[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        left > 1 ? digits[group >> 6 & 63] : '=',
                        left > 2 ? digits[group & 63] : '='};
        fwrite(four, 1, sizeof four, page);
    }
}

firn_result firn_page_image(FILE *page, int width, int height, const uint8_t *rgb,
                            const char *description, firn_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_png_pack(width, height, rgb, &bytes, &size, error));
    fprintf(page, "<img width=\"%d\" height=\"%d\" alt=\"", width, height);
    firn_page_text(page, description);
    fputs("\" src=\"data:image/png;base64,", page);
    print_base64(page, bytes, size);
    fputs("\">", page);
    firn_free(bytes);
    return FIRN_OK;
}
