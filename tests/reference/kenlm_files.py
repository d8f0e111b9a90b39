"""KenLM's binary files of a small ARPA text, as its own ``build_binary`` (0.3.0) wrote them: packed, then in base 85.

The text (:func:`arpa_by_rule`) is made by a rule: twelve words, 66 2-grams, and 60 3-grams, some of whose suffixes are
missing, so that KenLM adds them.
"""

from __future__ import annotations

import base64
import zlib


def arpa_by_rule() -> str:
    """The ARPA text that the files were built from."""
    words = ["<unk>", "<s>", "</s>", "a", "b", "c", "日本", "d", "e", "f", "g", "h"]
    firsts, lasts = words[1:2] + words[3:], words[2:]
    pairs = [(v, w) for i, v in enumerate(firsts) for j, w in enumerate(lasts) if (i + j * j) % 3]
    known = set(pairs)
    triples = [
        (u, v, w)
        for k, (u, v) in enumerate(pairs)
        for j, w in enumerate(lasts)
        if v != "</s>" and (7 * k + j) % 14 == 0
    ]
    assert any((v, w) not in known for _, v, w in triples)
    lines = [
        "\\data\\",
        f"ngram 1={len(words)}",
        f"ngram 2={len(pairs)}",
        f"ngram 3={len(triples)}",
        "",
        "\\1-grams:",
    ]
    lines += [f"{-99 if w == '<s>' else -(k % 7 + 4) / 8}\t{w}\t{-(k % 3) / 8}" for k, w in enumerate(words)]
    lines += ["", "\\2-grams:"]
    lines += [f"{-(k % 11 + 1) / 8}\t{' '.join(g)}\t{-(k % 4) / 8}" for k, g in enumerate(pairs)]
    lines += ["", "\\3-grams:"]
    lines += [f"{-(k % 5 + 1) / 16}\t{' '.join(g)}" for k, g in enumerate(triples)]
    return "\n".join([*lines, "", "\\end\\", ""])


def binary(name: str) -> bytes:
    """A file: ``probing``, ``trie``, ``quantised`` (-q 4 -b 3), ``array`` (-a 64) or ``both`` (-q 4 -a 64)."""
    return zlib.decompress(base64.b85decode(FILES[name]))


FILES = {
    "probing": (
        r"c-o~_3p`X=7(aPLQ6ZKnW)gW6$;gsW5;N6Ks7cv0V+_Xo5lTk03e`p)k)+a=@<>rgBiE2nX+?HRk!)otJ!nfQ&EDhQyIU&NukZJ}"
        r"=brnW|M|ZE_nq&YbN&2Sfh1o)lGla}f#!yWK3*J_2bbgPZom%kGh_$2b4VTm!G5d_q%cl!2sgl=WHKK7FMKPssT_kgB2=Je3_c=0"
        r"+zPGU*U94VMflqSd?;`{uQie0bKZ_I4(*rRjTWfHZ@ei9J}={a2l{v+cYVarzS+jUoQrQdl%>#qU=+E+EH?B%-=7kBAD`>Z%F0sW"
        r"BlK51IgBw!qs+&S#Cy*UpL1U+NP2|cR8KFN_x9I^5@=sDV>W|Z*Ixp&q@mFfI3pQZB7?yyVZs2Ytw!Gn0M=-3_~@Hy^<FN~??ham"
        r"h3f&XC*gW)T+hVyd|dx&`6c-AGv4ON7z~Rx8V6ivUMxbnSfh^+p%py)$J^sH9ko#j?U+Oe*4hqgFT(loN7}1Qo~P<how@_FCq$Cx"
        r"yfZ&3&Amm~pRX8nDBWYFF~K*Ru`$BLxb-+14~!p7amt<hw-I6hKw;&l_!i9IwTnG|nvUg5h~!Xgt1KsSvoU@E0bdX~rzGvYjxuU+"
        r"?r3@WoV0YGwTlb8T!YOA$TFju^PTKnY3R2lw0AeUZqw!7vdeh>`Cqbk$^43__fdH*5l@HwWX=l`yA8`fKvWk~PjxE^#c-})<ZD;I"
        r"bqZO1z!Ak;LjRoIF2%0YX>`o~$MIS++qAOQaY%T+KN_cmOPuIXJ!yv560%{r)Krs|JU<No<^0{=wQD+`ez6IU2khxA*Uybq+ltn4"
        r"C7#3Y68|t!+ANLY)tEg1USFLN+oB$D@xA@=fefCS^cN*7pbxFTVgHV@0a=@3q!wb|06f~vb}19cH{<g^;#U~NI5@cG!tZ#!0Tpub"
        r"zTRCLviSZ*DBF`=oAmjTL~dlNp7JiFau*Q$N8HPy>|I2-A~w!PQfiKw%6IJEgN+N3gocp9)pHukK36~F6?*n^fyFDZ{lZ65d-hGs"
        r"tgSvm;4@uKL?L_B@^S8n#~bUaHP6H&i1j_ZwMVn*=fVO!-jCulIOE+?&!k!r^|AwWucl?w1Q=f-(#OabE_qqoL+tMfV>5V~U6LH4"
        r"J`F89<FEGClCkyRBh~^Po)UQz1LgNge=$#^3ZxZRC*b=Z(Tz2|cD{Nm2|vg9f@9(ds(DB$F+Z6)A<Wrn`fnIsh-A*JJrmQo;yM=J"
        r"x7X9$BkjC!O8k7{{4I)^m|~lt#mDwDKz?YXJwF-gt%Bv3kHjfoyTft|IfIV_u?M$0-@JS^p4bm^_a(1Mvpu!3dgmj%YaC+Tb}FS~"
        r"{DsKCt*Mhlt&9eu{*M^juGH20Gl{4_>3%V<ZAHeDiF&q>Bu_qCBQPM&gV>NE_xPI)iCC;c#98gE?%3)EXUskydEo2PoWj$&P1I9<"
        r"POWr#b$>Zg?^?QM5~uSg{D|ih=-c&I1(<H3;{LvSKL%gcNjdg*;}E(&NUo3G{CnyN6)1PazhR;A&KC)2-24jBZPk(<dO|ehyS{O7"
        r"-Gm!PanN_CrYt2mf%*<&YLw(7DV2d?aPH@PHTIUcF6n9YhnU_2+xFYLF`S^^ui@DY$gLf#3Ui^~qA0qGTk3cXIQO+6Z%dr?GIMCt"
        r"A-R4#TeWHm<XL}CULNQ@4}y4ymQ<4add*;niJHF2QQT!Y7xot`v_00%ahwYAX=B$Wp3Aa{gL)agSKa%3lu1yZ=aOBL%a(w@0!ZYf"
        r"lgk`!r>z-|S9^)(i3f*ikb^%xDaiBu@!{*3*4=Whx<da6oSSSHcwtDLrUmgj6zW2k`l?*0?-}CJGen125HII@b^pOQGc~B^l$tmx"
        r"J)EdAT22&F*aLTJBv>QYUi<99Sviy|Oz7)dYe2>~+xnovi>0Hj9pg#GlqbdQ9iw3!O!~)lRojO`ZrNJlJjKm|YcLiY+mNI`{PW;%"
        r"BEp<U^<>>0fOl_2JiW3gpP_#U_RB8a8;q~Jt_<-UsT5ItflV;fr+X!>a<?#g3G-ufDP@R!r>+$0pQkSEQP(paKG(|IS#Ng>cqhKL"
        r"mOhX%T4jUG>%+bbb%lzurS+P__rhFKXLyxq`e-&iSzT%ev?nn~-m43JB!c809Cd(meG9Fo%@k!sjFvYmd*}V#cg$(f&Voa6mzWBr"
        r"6o?PKQP9>G{Wb`4Q=8GKWR%v<9lk>pZl;yDKZd{C$Qg0DIL|Bj#t^TT%01WHlqe4I&a!ERb?Mb>A>O=RrzErGCvV7y;kGVRRiaRT"
        r"WLy@Z{yvt#A_RR5(S`-w02_4e&F;!P0o(xxcmPk}1^xxDJ{?E"
    ),
    "trie": (
        r"c-n20Ur1AN6vxkIOVh}#WJ1s;CYq>|B1BnpPx=s~6xf^F()p)3xBOEJoLz!?iBN<RB61H!5<U1LLFn}oRDutUda)-LsF?ULWth%c"
        r"eb4XSZ5mzp-Tlt*cYdGqJ?H%Hyk3{z-0d}Y_V@d1Ef!Cw+tuFX?ry7W^?5C=zBaeH-Ph}N^_y?Id;7Y4J?4wqlzyZ-yk>QH{lUX4"
        r"I&CLIyp=k=w#MVAwpXwHTKAE1v|s;F;Y`iL0m}1uzI`<sGiw4H6CZaMjq@GuX5Gu7T9awfe|A)^fAf8$@#l0yb9VQyjbLBIlXtV?"
        r"PSsNWt)gcY&0U{2r=}wJ-xoX%EL4}3jRq5s*7k*(W#MV_(+9ldwC$XwgAdzsX37kS{bT7Gz?S6vlx-LLrw`bYT%5Aa!Y)4;Pd=Zr"
        r"N5p>30Y1rf|A?xm|39d6MAZHeQ52%rbB+^*bBPv=rO<8?5i!7XI@tT3h@mIxH)(a*#_FzKuY$G=Swt}bIz_Z3KvifgK$8}DPYRG7"
        r"M}k<D?Kr=S5!C5O+QVvG4<S1M#SGc1qSc%NKmZCG;T;AjWC`Jj4W)8m#XiI!1zPqnf;tG<5{eEd6`g<(p{P8m2pUI3YG#}Th#bgK"
        r"8RCR8aCRG$!6yK*A}R$a4p8&~N~3UNtBO@c<iCn+7^F;L!ZlZ}s31xH0V}~VE(5f~sXYZ~ol|q?si{#`39?~OxJ4_rvl3@n5ivx7"
        r"tU6Leu>%<-C0J4P2nK_ejarT7Gu5ssV_1<yjT%*u-GRI6<gUrn8Yp-dHI8wfo7pNTx@=Ip7MTZRPJl|(u1OXjAe@@Rh8_hOl+cS}"
        r")8GyzL3*`o6oIsLPE9eYHB!c^lf@p!M1Wd!nxfPf9Y{|28Wj;Wjf1)aBMceRB}`)YVn)7jP&9At8Ybh|iKC>G4G?HU@O88$<b%jT"
        r"_%DH?ybw1EF4wVR<12m+lSZxq{8x*Z0{=K}i1H4&87?jYIdhqU;;i9+MrmOe?)__S2V6Fh<OH&j22r-i1?-$bkT@><B(e_4EVmGp"
        r"MomiuUw4y<Dfmm98-rZgpms4d%o!nxwUfAvaG@=@gfsVlqSk>PkBzK-HgZuLt&F`|dH$9<shzAAthuR!TImM;1<)oghy"
    ),
    "quantised": (
        r"c-qU&O)OBz$yLZGDJihh*U!#KO-##7%}LQq&d=3P&QD2INXswEO)OC;OD!tS%+FIW<zhg9274f}pAks>2Lg}?BUFYNOdhajhKhkO"
        r"4^++#O4}fr#0{kj>J;}{wv{pnW@lf%BreWwS@Chj(ckyQPp7AbF)pdIl9#_<pfYKn+p3!r{9o>I597-D{;{_BLAGF)Zn?n|(L&`}"
        r"x?!2eKW*LmplO#xZ^aFBEv-qlf4X16>|tVIhO##7XJA;d|LmDLKzafYx9p!avl2)r0O?2|?Eu6Y`;Co-_k;Wh^vk|kGiUAt$^$V2"
        r"2sc2?Ij|3c8=#m0iWeZ^4kUSyeg`NvKvECF4SNw7WGBoH5IA-SstyVg_A{UY5Pu&#oVx%l&xeSs{UG~A;d}?Myfg~GVV^3TuK?!j"
        r"pxU?32+p4XmbXMPpJAUpnxotpu!D*0F02y-RwyJyF$6cbHC$j?#O}c~h0Q>;fyv>i!vsb}h9it!tP;EqTnlO(rW`oIAjG_kJ&1D+"
        r"TZf85T0#Qz&#7G+X^jT<syUZFY~A3O@i4(VX_{M_AglVFxCFhzx(*xGiqjuXKAnEFeWJLYf5|?cJ%SZmKEHZ;^icm~b@6;RyR(08"
        r"{n+q%(nHN-(|fn8^vlKZ+AvhWoVSRj%<+;-=`xO0OqWZpc~%!)al6R6!pq5d3ERrs3$Ipifp~>XB}=b)++uXSQMHJfrL1zb(-JnI"
        r"LbxAoO7pVq7;K8|7!ny$7@kdE`fSb`h75)@1{-~#SSmw0Lo!1W0|2X-@8|"
    ),
    "array": (
        r"c-nPTOGs2v82;z!JbGEl1VxURM50X;5y~{W(xpOVyKvI+(KycJqg<#AQEeg=H%3UhD3WO5A}J!T5>!G#Qkz<N7hbVp7FW5LjzN9r"
        r"ac7*M3v=)Ppa1*5|8dTlSS+0Icg6f2eSL}QKp@%?3Ac4dx>`@S#AAV$cx%Mp7Vn9L`}{W}J-warZvS}?<(^~>Uh@{b{@`IN78$Ye"
        r"_d<<buCd=98LN}u;4USv{3eD==Bn=XQ(-jv?W@mMP&KeV{eEZJ_o+S7WO*`NU0l4JI5DQwJ^wM<@bhhblc(#~`cSVLExcZN>&!~g"
        r"jnYSzO`RV%W@pvgZ;m_|_<o_hd~E3V{nV~h^Q`ck`{5m4O3rVdr~HTcN<r40;_-dC8Ng2}MOnX=$B*XuNu@07`?+6{pHDfP^+$QU"
        r"Do>x3ntzI_qyId$`EFUhi)~Q()>w(QU~D?DK?XM*!XR=I>3qc{Fhtn$j7`!-$SQO=J!8_hx#2XGLEqs9=xf{nJq^QP^c`;41<PRc"
        r"EpC9m$qkoKHW*zsSsPr(CNMmE+Dt0yahn*gS&v1m@Rk`^H|ccDE?D|yhitIXDGdFtOAhLxTY@J%f=;i!awTn*rS7$fu~3Cw<T5Iq"
        r"veSq;!#i#<1bXR}bN+0VE4(@O)9hj_q&h|Mq`HN&p?T$eG>ZW1n$-;1g^r;)1YOsha=e;Lgmld#z?{V!)NG<uozb^UmQZ%fL20s6"
        r"oh4l}>7p>Z9D?dFF-|#W)g>@Isi?<1eX41&<5P-pPeOPb&eBPo^NTPH+@sMiKny}9bqU5KA{l7U)Z=W2AeY9Go{C#2ISBj;R2CjX"
        r"B?D*X3L+s?rk{e*0P+y<Yo$yD_{>3IUqNmT3px@t?`JBgGKEGLt}@607|+=K17rhpm>z*Mh#u8*h#Y6rJB&m==qs$;5~wuDT2$Qm"
        r"#$u*|Kf1+nl&gTKLuG1&b%Z8Thj9M^p-n)R3U=SjV1IWsM8Vz=g{hTR$DgiFyr2$hqhJ7Q5o)Ivx<-EiYfd#L"
    ),
    "both": (
        r"c-qU&O)OBz$yLZGDJihh*U!#KO-##7%}LQq&d=3P&QD2INXswEO)OC;OD!tS%+FIW<zhg9274f}pAks>2Lg}?BUFYNOdhajg^GbN"
        r"4^++#O4}fr#0{kj>J;}{wv{pnW@lf%BreWwS@Chj(ckyQPp7AbF)pdIl9#_<pfYKn+p3!r{9o>I597-D{;{_BLAGF)Zn?n|(L&`}"
        r"x?!2eKW*LmplO#xZ^aFBEv-qlf4X16>|tVIfwDI2XJA;d|LmDLKzafYx9p!avl2)r0O?2|?Eu6Y`;Co-_k;Wh^vk|kGiUAt$^$V2"
        r"2sc2?Ij|2IuU@qZNH?Hi1(+TryZ{MzAgKkJ?*PRHXnGp<A~48JFgJj}u|rUGP>`^n0TqDw``F>!1z>qTL|pC%*)Iy`JAmb-QTPq}"
        r"RN;IDFkc7NzI{e;{sgeRC5rhB`|Qyi<;H*mIG}P>QMrQrE?g57RyZVVVp!bJ)-ZupiQj`|3Xg$i1Czs1M;T^Ih7#siTsI^S2ru~V"
        r"pmMN-QHV{AKS*c|Plt!XnS=vuA6Ih)9%C}BQ@e5H!S00EbB7Ly?b0bbBfzD$BldvK!x}zI)`ISbm8ZXVu`5rH_ItiZVux%&%JWmF"
        r"TU+_n)%EgvY-ax4^fBSN&|%FUap~<IeKs+Y77PV2=PhC>bG+nIx{PBL)8&$Dp4CNH+%B@N@N#lq!nX4E!mAZrAYLI;$<k{cw-{Y-"
        r"R4rm=DXU!Vw1f?)5bj5t(!6Xt2Ag6#hD3%GhG)~4KAW?KA%h`}!A2h_mdcRMkj#+8000?~`2G"
    ),
}
