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
    """A file: ``probing``, ``trie``, ``quantised`` (-q 4 -b 3), ``array`` (-a 64), ``both`` (-q 4 -a 64) or ``rest``.

    The last is probing with lower-order rest costs (``-r "order1 order2"``): 1- and 2-grams of the same text, whose
    log10 probabilities are 0.75 times as large less 0.03.
    """
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
    "rest": (
        r"c-pO33p`bK9RGX8P*IF1?oH&eNUn?wt%-Zrc0*lC;kqua_al^C-PO2zL>@7fVk^xfVj*2Q_mWU)de}-O*_N^CK`Wcm-T9w$tTSQu*?yn"
        r"TJ?H=Vo$v4cIOm3kv!f_s;gsNQ+oJ3&EJB01>_8qjEWn%-8E(Oe4B%1%BV)qZ+bHqem{?w91jSkzydr@kdJ)T@7b!}RBSSoq!>$rX84^"
        r"#GxW7x>?ZMv(J}>RcU=EyhVZDK#Ywqn9X{T+!sQ{)X<*<<<e(b$aS@dkXeW>{S^Byfl^c<B;ZLm#^`^)xZq#hc2{hF4RqTB@jr64X#=2"
        r")`btcm!LWeLlF(u`J`z_&3q&EmiK{1<ujY;bTHi`P0_1GA*B-xIYY3t6jz!^ALQCR;iX09u;RGjVr9b0|PGDzwn&elVXvqryT=<QC<-p"
        r"yvz%<BOgP2}}aihhcD?6bxgsMT+1$A?7cg$Sa)!Lg)1KQOtwK{GCZDxSs$ViyCV{^bdP4Jzs^&I-x%a<};)G@oyo4-!M_V;&I*9iK5NU"
        r"qekx%F$gp&JSVj$&RVGxL0|YOZbO1V8(GU=+Epm=ZjtS-(ugj|3*2Buj<JZfJ<-~#>uWS0;_-Ye@F-dFvn65<Kqbagz9F2{Zut^^x9o#"
        r"Qd3a4ESpJG>&W#Rpctv;|U`9C_CpC{uqc7Z5bfGTXzXAmO2kPuU?IMi7*o^A~n7(zEOILZg`Y=$Q!?=xmyIXf$9IU%Y)ELdP&5V7%V0T"
        r"G6_-lO&IR`!J^SMtcoI7}Z0ajm~_vk14H6^mpCgi!-`OG*rm$p3%sCpyrsH_9@56W`)c~|?;7cp_W0-|?cCkMYfhJ{<X6rz^MRJEif$e"
        r"-xZsj$WSMS%6twht5+T5sTo<FbM&WhbNCd-pCDFwb8la)8ay{@!}Ck|f<d=o}J#?<)rXGeyKpbKlah_QY*KyT0N-E-y*#)QdbnVdh_>("
        r"UWt3pcO_Aq4Po1Qi`~%Mi%Z!QCyAl0D!z-cXGVzMC#WFeaKY$Dx+CPMmL@NmY4+qXF;1<ePD2}zACZDu)5Jc$?~~sCQu-H1Hk&KG(O^="
        r"%i+C4-Uo8QZgnpc6Etv~0PCUb=HoW%J^S|KI0=SJZ;!3?T;5*yPyI|?Z|bTRRlOdceE}9n&cK01`7KRH$+G!A*3#Jhx@E*J!FnU`xl`k"
        r"&$8w3}zWQ>{fWg%*mE}aPh#mSmnV$;jZ1bZ#l6&`4(C^78Vu<kABv@=itTM^kXDtKdy*7K+LB2ts0+&2T77o2>mj_#@c+K(s?j$niYf^"
        r"Wx&^W}e_V(+P@+i4nNy9Up*ne0KOj2#GoNd}eA@;uj_O9r-T)IvvQcKpCMV}q-<+1oHTvmd~<}YnImC~{PI-VEFznYoJXvNWPegZ9R75"
        r"Tkal`<#WIo(iz?=XC?z1hKdQjrv*jn_?p`6tx6a+mENdy2pTh?Bj4tM~b{-<8QTt@e|`6(vrP5k9N<J9J;OTdMzOnt6D<5=`I7t%Y-?U"
        r"95KU{2sM(-e6+-eI|K6l!j%4Kd!QxPo6=01?v1`%_4L1PE3s*3rM@!o`LUY2^NQ!?rD=*P3>N|T|AEaVcyrW`Np@&JziGaqEz2BTu+`="
        r"Llay1Z^~xBP1Fc`|C_lCH%8j*q7%OSZ#yUEqH*@|7u(0s+9M^QrmKF`OK(79Ln7K&TYdI49nF!TL3&%KW`LQ#8^+<=F}ij34ND>Pq1Ql"
        r"_7L!hY2{Fx@>Pa+lR6LZO%2vl<jnCSFt_X-3JpAz?SAUiVv^x_&uK{XT&&J9UXtyevsqLSmtPf@X5S8u{Dy_4FI^D9`KH=yzE`WZvol#"
        r"c@rca_F-mNo-65wkP12M^qceu-Wf53z1_vYPsU{dV95aM%ZZO%ATxJC&1DyF~p9|+Z=Kz^xrQB4U)9)8LpNpmaKxjQe~gvD#L*5JhbFB"
        r"#B>2xew<(Alq{n+T)7^Gs8N*+VFs<q~ynOpjp*@y0azYVWqj638DI<1-IR3)m2^7Iyj25uvRv<a2ASJv4urqdi?t=4Eq6?l#M_$G?Zh$"
        r">{Wvw~A?({GhFW+XE_LMNUV|pT0j`?N|>R7Cfx(?wJnbW<C5yUz2Mb^sUG+fv>SsbOpw;#yK|gyNFWwnUDCbqzAF@jlge~hBT(Qs*Gh;"
        r"0MB(7ejH6}y{-lET*Yi@Tltz8$j=MT+!$bQ`3&Y~&4uhS>fP2_$bXXa{(zpT4YpJ3yV)=HiTEdG+Dm^U8N<3!zw4MS3loWkYHgbV)Ja="
        r"G=}l;~$(v4R5W7$Ju+dz<@%P<0tqzrsR=<DD4a$a9Ixbo&J(xIM-W*-M4)x!)V?aIc6bLW)&8wwBeB6!lJ43r)L_^<nmvm@a=63TSCTH"
        r"Hw-1_bZ@b40GN={7}bg9e=;&pR)X9llk$U(f9YHnp~UejiXw`()5$?yCy1p34B-x{YQUuiZmF8jEMPzPWii~cOo3mf<Y4(R)$s4xEn2m"
        r"o9V2!cQ`_!DOxzl8"
    ),
}
